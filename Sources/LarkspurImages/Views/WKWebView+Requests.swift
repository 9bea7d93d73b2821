import Larkspur

#if canImport(WebKit) && !os(tvOS) && !os(watchOS)
    import WebKit

    extension WKWebView {
        /// Loads the response of a request as a page, with the interceptors, credentials and trust of its session.
        ///
        ///     let page = await session.request(url).validate()
        ///     try await webView.load(page) { progress in bar.progress = Float(progress.fraction ?? 0) }
        ///
        /// WebKit loads the page's images, styles and scripts itself, without the session.
        ///
        /// - Parameters:
        ///   - request: The request. A later load of the same view cancels it.
        ///   - progress: Called with the progress of the download.
        ///   - transform: Returns the content of the page, made from the body of the response; the body itself by
        ///     default.
        /// - Returns: WebKit's navigation; nil if WebKit starts none.
        /// - Throws: The error of the request, with the code `.cancelled` if a later load has replaced it.
        @discardableResult
        public func load(
            _ request: DataRequest, progress: (@MainActor (TransferProgress) -> Void)? = nil,
            transform: @MainActor (DataResponse<Data>, Data) throws -> Data = { $1 }
        ) async throws -> WKNavigation? {
            let loads = ViewLoads.of(self)
            loads.page?.cancel()
            loads.page = request
            loads.tracker.followProgress(of: progress == nil ? nil : request) { progress?($0) }
            request.resume()
            let response = await request.serializingData().response
            guard loads.page === request else {
                throw RequestError(.cancelled, "the web view loads another page")
            }
            loads.page = nil
            let body = try transform(response, try response.result.get())
            guard let head = response.response, let url = head.url else { return nil }
            // WebKit itself finds the encoding of a page whose response names none.
            return load(
                body, mimeType: head.mimeType ?? "text/html", characterEncodingName: head.textEncodingName ?? "",
                baseURL: url)
        }
    }
#endif
