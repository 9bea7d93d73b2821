#if Foundation || canImport(Darwin)
    extension ResponseHead {
        /// Returns the head as a Foundation value. The values of repeated fields are joined with commas.
        package func httpURLResponse(url: RequestURL) -> HTTPURLResponse? {
            guard let url = URL(string: url.text) else { return nil }
            return HTTPURLResponse(url: url, statusCode: status, httpVersion: version, headerFields: headers.dictionary)
        }
    }
#endif
