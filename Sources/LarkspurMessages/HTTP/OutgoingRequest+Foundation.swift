#if Foundation || canImport(Darwin)
    extension OutgoingRequest {
        /// The request as a Foundation value, created on each access.
        ///
        /// Setting this property changes the method, URL, header fields and body. Fields whose values did not change
        /// keep their position and repetitions. A file or stream body, which the value does not contain, is kept
        /// unless the new value has a body. An `httpBodyStream` can be sent only once. A changed `timeoutInterval`
        /// sets ``RequestTimeouts/firstByte`` and ``RequestTimeouts/idle``. A changed `httpShouldHandleCookies` sets
        /// ``RequestOptions/usesCookieJar``, a changed `cachePolicy` ``RequestOptions/cachePolicy``. Settings about the
        /// network, such as `allowsCellularAccess`, have no effect: monitors get a remark that names them.
        public var urlRequest: URLRequest {
            get {
                var request = URLRequest(url: URL(string: url.text) ?? URL(fileURLWithPath: "/"))
                request.httpMethod = method.rawValue
                for field in headers { request.addValue(field.value, forHTTPHeaderField: field.name) }
                if case .data(let data) = body { request.httpBody = data }
                if let idle = options.timeouts.idle { request.timeoutInterval = idle / .seconds(1) }
                if options.usesCookieJar == false { request.httpShouldHandleCookies = false }
                if let policy = options.cachePolicy?.foundation { request.cachePolicy = policy }
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
                // The new method is compared with the converted old method, because URLRequest changes some methods to
                // upper case.
                if newValue.httpMethod != before.httpMethod {
                    method = HTTPMethod(rawValue: newValue.httpMethod ?? "GET")
                }
                updateHeaders(from: before.allHTTPHeaderFields ?? [:], to: newValue.allHTTPHeaderFields ?? [:])
                switch (newValue.httpBody, body) {
                case (let data?, _): body = .data(data)
                case (nil, .data), (nil, .none): body = .none
                case (nil, .file), (nil, .stream): break
                }
                if let stream = newValue.httpBodyStream { body = .inputStream(stream) }
                takeSettings(of: newValue, since: before)
            }
        }

        private mutating func updateHeaders(from before: [String: String], to after: [String: String]) {
            for name in before.keys where after[name] == nil { headers.remove(name: name) }
            for (name, value) in after.sorted(by: { $0.key < $1.key }) where before[name] != value {
                headers.update(name: name, value: value)
            }
        }
    }
#endif
