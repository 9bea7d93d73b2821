#if Foundation || canImport(Darwin)
    extension SessionConfiguration {
        /// Creates a configuration with the settings for requests of a `URLSessionConfiguration`.
        ///
        ///     let session = Session(configuration: SessionConfiguration(settings))
        ///
        /// Its `httpAdditionalHeaders` are added to ``HTTPHeaders/default``, and replace fields with equal names. Its
        /// `timeoutIntervalForRequest` is the limit ``RequestTimeouts/firstByte`` and ``RequestTimeouts/idle``, its
        /// `timeoutIntervalForResource` the limit ``RequestTimeouts/total``. Its `requestCachePolicy` and
        /// `httpShouldSetCookies` become ``RequestOptions/cachePolicy`` and ``RequestOptions/usesCookieJar``.
        ///
        /// Its settings for connections, such as proxies and protocol classes, belong to the transport:
        /// `URLSessionTransport(configuration:)`. Its stores of cookies, credentials and responses are not used: see
        /// ``cookieJar``, `credentials` and ``cache``.
        public init(_ foundation: URLSessionConfiguration) {
            self.init()
            for field in foundation.headers { headers.update(field) }
            let limits = [foundation.timeoutIntervalForRequest, foundation.timeoutIntervalForResource].map {
                $0 > 0 && $0 < 1e9 ? Duration.seconds($0) : nil
            }
            (options.timeouts.firstByte, options.timeouts.idle) = (limits[0], limits[0])
            options.timeouts.total = limits[1]
            options.cachePolicy = CachePolicy(foundation.requestCachePolicy)
            if !foundation.httpShouldSetCookies { options.usesCookieJar = false }
        }
    }

    extension URLSessionConfiguration {
        /// The header fields of all requests, sorted by name. Setting them replaces `httpAdditionalHeaders`, which has
        /// neither an order nor repeated fields.
        public var headers: HTTPHeaders {
            get {
                HTTPHeaders(
                    (httpAdditionalHeaders ?? [:]).compactMap { name, value in
                        (name as? String).map { HTTPHeader(name: $0, value: "\(value)") }
                    }
                ).sorted()
            }
            set { httpAdditionalHeaders = newValue.dictionary }
        }
    }
#endif
