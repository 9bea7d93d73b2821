// What `dump`, `print` and debuggers show of types that hold secrets, or a request that does: no stored properties.

extension RequestCore: CustomReflectable {
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension CompletedExchange: CustomReflectable {
    /// Keeps `dump` from showing bodies.
    public var customMirror: Mirror {
        Mirror(self, children: ["hop": hop as Any, "attempts": attempts, "error": error as Any])
    }
}

extension Session: CustomReflectable {
    /// Keeps `dump` from showing what requests of the session hold.
    public nonisolated var customMirror: Mirror { Mirror(self, children: ["configuration": configuration]) }
}

extension SessionConfiguration: CustomStringConvertible, CustomReflectable {
    /// The base URL without user, password and secrets, if there is one.
    public var description: String {
        "SessionConfiguration" + (baseURL.map { "(\(Redaction.shown($0)))" } ?? "")
    }

    /// Shows what a configuration is most often asked for; interceptors, monitors and the like may hold secrets of their own.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "baseURL": baseURL.map(Redaction.shown) as Any, "headers": headers, "options": options,
                "validation": validation.count, "interceptors": interceptors.count, "middleware": middleware.count,
                "eventMonitors": eventMonitors.count, "cookieJar": cookieJar as Any, "credentials": credentials as Any,
            ])
    }
}

extension Endpoint: CustomStringConvertible, CustomReflectable {
    /// Method and path, without user, password and secrets.
    public var description: String { "\(method) \(Redaction.shown(path))" }
    /// Keeps `dump` from showing what the description hides.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension OAuth2Client: CustomStringConvertible, CustomReflectable {
    /// The client's identifier and the token URL, without secrets.
    public var description: String { "OAuth2Client(\(clientID) at \(Redaction.shown(tokenURL)))" }
    /// Keeps `dump` from showing what the description hides.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension AuthenticationInterceptor: CustomReflectable {
    /// Keeps `dump` from showing the credential.
    public nonisolated var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension ResumableUpload: CustomReflectable {
    /// Keeps `dump` from showing the upload's URL and headers.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension ServerSentEvents: CustomReflectable {
    /// Keeps `dump` from showing what the stream's request holds.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension MultipartFormData: CustomReflectable {
    /// Keeps `dump` from showing the parts.
    public var customMirror: Mirror { Mirror(self, children: ["boundary": boundary]) }
}

extension Redaction {
    /// A URL of any kind without its secrets. A type of the user's own is told by its name: asking it for its URL runs code.
    fileprivate static func shown(_ url: any URLConvertible) -> String {
        switch url {
        case let url as RequestURL: url.description
        case let url as URL: shown(url.absoluteString)
        case let components as URLComponents: components.string.map(shown) ?? "\(URLComponents.self)"
        case let text as String: shown(text)
        default: "\(type(of: url))"
        }
    }

    private static func shown(_ text: String) -> String {
        if let url = try? RequestURL(text), url.host != nil { return url.description }
        return String(quoted(text).dropFirst().dropLast())
    }
}
