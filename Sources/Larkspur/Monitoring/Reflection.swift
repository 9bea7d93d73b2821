// Mirrors without stored properties, for types that hold secrets or requests. `dump`, `print` and debuggers use them.

extension RequestCore: CustomReflectable {
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension CompletedExchange: CustomReflectable {
    /// A mirror without bodies.
    public var customMirror: Mirror {
        Mirror(self, children: ["hop": hop as Any, "attempts": attempts, "error": error as Any])
    }
}

extension Session: CustomReflectable {
    /// A mirror without the session's requests.
    public nonisolated var customMirror: Mirror { Mirror(self, children: ["configuration": configuration]) }
}

extension SessionConfiguration: CustomStringConvertible, CustomReflectable {
    /// The base URL without user, password and secrets, if the configuration has one.
    public var description: String {
        "SessionConfiguration" + (baseURL.map { "(\(Redaction.shown($0)))" } ?? "")
    }

    /// A mirror of common settings. It shows only the number of interceptors, middleware and monitors, which may hold
    /// secrets.
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
    /// The method and the path, without user, password and secrets.
    public var description: String { "\(method) \(Redaction.shown(path))" }
    /// A mirror without children, because they may hold secrets.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension OAuth2Client: CustomStringConvertible, CustomReflectable {
    /// The client's identifier and the token URL, without secrets.
    public var description: String { "OAuth2Client(\(clientID) at \(Redaction.shown(tokenURL)))" }
    /// A mirror without children, because they hold secrets.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension AuthenticationInterceptor: CustomReflectable {
    /// A mirror without the credential.
    public nonisolated var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension ResumableUpload: CustomReflectable {
    /// A mirror without the upload's URL and headers.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension ServerSentEvents: CustomReflectable {
    /// A mirror without the stream's request.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension MultipartFormData: CustomReflectable {
    /// A mirror without the parts.
    public var customMirror: Mirror { Mirror(self, children: ["boundary": boundary]) }
}

extension Redaction {
    /// Returns a URL of any type without its secrets. For types outside the library it returns the type's name, because
    /// asking for their URL runs user code.
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
