#if Foundation || canImport(Darwin)
    /// The settings of a `URLRequest` that a transport cannot follow, by their names. The session reports them.
    package struct IgnoredURLRequestSettings: RequestOption {
        package var names: [String] = []

        package init() {}
    }

    extension OutgoingRequest {
        /// Takes over the changed settings of a `URLRequest` that are not part of the message, and notes those that
        /// have no effect.
        mutating func takeSettings(of request: URLRequest, since before: URLRequest) {
            if request.httpShouldHandleCookies != before.httpShouldHandleCookies {
                options.usesCookieJar = request.httpShouldHandleCookies
            }
            if request.timeoutInterval != before.timeoutInterval { setTimeout(seconds: request.timeoutInterval) }
            if request.cachePolicy != before.cachePolicy { options.cachePolicy = CachePolicy(request.cachePolicy) }
            var ignored: [String] = []
            if !request.allowsCellularAccess { ignored.append("allowsCellularAccess") }
            if request.networkServiceType != .default { ignored.append("networkServiceType") }
            #if canImport(Darwin)
                if !request.allowsExpensiveNetworkAccess { ignored.append("allowsExpensiveNetworkAccess") }
                if !request.allowsConstrainedNetworkAccess { ignored.append("allowsConstrainedNetworkAccess") }
            #endif
            if !ignored.isEmpty { self[IgnoredURLRequestSettings.self].names = ignored }
        }

        /// Sets the first-byte and idle timeouts. A value of 1e9 seconds (thirty years) or more means no limit. Zero,
        /// negative values and NaN are ignored.
        private mutating func setTimeout(seconds: Double) {
            guard seconds > 0 else { return }
            let limit: Duration? = seconds < 1e9 ? .seconds(seconds) : nil
            (options.timeouts.firstByte, options.timeouts.idle) = (limit, limit)
        }
    }

    extension CachePolicy {
        /// Creates the policy of a `URLRequest`; nil for the default, so that the session's policy applies.
        package init?(_ policy: NSURLRequest.CachePolicy) {
            switch policy {
            case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: self = .reload
            case .returnCacheDataElseLoad: self = .preferCached(maxStale: .seconds(100 * 365 * 86_400))
            case .returnCacheDataDontLoad: self = .onlyCached
            case .reloadRevalidatingCacheData: self = .revalidate
            default: return nil
            }
        }

        /// The nearest policy of a `URLRequest`; nil for the default.
        var foundation: NSURLRequest.CachePolicy? {
            switch self {
            case .reload, .bypass: .reloadIgnoringLocalAndRemoteCacheData
            case .preferCached: .returnCacheDataElseLoad
            case .onlyCached: .returnCacheDataDontLoad
            case .revalidate: .reloadRevalidatingCacheData
            case .protocol: nil
            }
        }
    }
#endif
