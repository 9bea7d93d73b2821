extension OutgoingRequest {
    /// The same request as Foundation's value, made anew on each access.
    ///
    /// Setting it takes over method, URL, fields and body data. A field that is still as the getter gave it keeps its
    /// place and its repeats; a file or stream body, which `URLRequest` cannot carry, stays unless a body is set. Another
    /// `timeoutInterval` becomes the time that may pass without a byte: `timeouts.firstByte` and `.idle`; another
    /// `httpShouldHandleCookies` becomes `usesCookieJar`.
    public var urlRequest: URLRequest {
        get {
            var request = URLRequest(url: URL(string: url.text) ?? URL(fileURLWithPath: "/"))
            request.httpMethod = method.rawValue
            for field in headers { request.addValue(field.value, forHTTPHeaderField: field.name) }
            if case .data(let data) = body { request.httpBody = data }
            if let idle = options.timeouts.idle { request.timeoutInterval = idle / .seconds(1) }
            if options.usesCookieJar == false { request.httpShouldHandleCookies = false }
            return request
        }
        set {
            let before = urlRequest
            if newValue.url != before.url {
                do {
                    url = try newValue.requestURL()
                } catch {
                    problem = RequestError(wrapping: error, as: .invalidURL)
                }
            }
            // Compared with what was given: URLRequest upper-cases some methods by itself.
            if newValue.httpMethod != before.httpMethod {
                method = HTTPMethod(rawValue: newValue.httpMethod ?? "GET")
            }
            updateHeaders(from: before.allHTTPHeaderFields ?? [:], to: newValue.allHTTPHeaderFields ?? [:])
            switch (newValue.httpBody, body) {
            case (let data?, _): body = .data(data)
            case (nil, .data), (nil, .none): body = .none
            case (nil, .file), (nil, .stream): break
            }
            if newValue.httpShouldHandleCookies != before.httpShouldHandleCookies {
                options.usesCookieJar = newValue.httpShouldHandleCookies
            }
            if newValue.timeoutInterval != before.timeoutInterval {
                setTimeout(seconds: newValue.timeoutInterval)
            }
            if newValue.httpBodyStream != nil {
                problem = RequestError(
                    .invalidRequest, "a URLRequest's httpBodyStream cannot be sent; set OutgoingRequest.body instead")
            }
        }
    }

    /// Longer than thirty years is without limit; zero or less, and what is no number, means that none was chosen.
    private mutating func setTimeout(seconds: Double) {
        guard seconds > 0 else { return }
        let limit: Duration? = seconds < 1e9 ? .seconds(seconds) : nil
        (options.timeouts.firstByte, options.timeouts.idle) = (limit, limit)
    }

    private mutating func updateHeaders(from before: [String: String], to after: [String: String]) {
        for name in before.keys where after[name] == nil { headers.remove(name: name) }
        for (name, value) in after.sorted(by: { $0.key < $1.key }) where before[name] != value {
            headers.update(name: name, value: value)
        }
    }
}

extension ResponseHead {
    /// The same head as Foundation's value, made anew on each call; repeated fields are joined with commas.
    package func httpURLResponse(url: RequestURL) -> HTTPURLResponse? {
        guard let url = URL(string: url.text) else { return nil }
        return HTTPURLResponse(url: url, statusCode: status, httpVersion: version, headerFields: headers.dictionary)
    }
}
