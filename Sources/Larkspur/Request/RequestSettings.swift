/// What can be set on a request at any time; each is looked at when its stage comes.
///
/// One reference: most requests have nothing but the session's, and share them.
@dynamicMemberLookup
struct RequestSettings: Sendable {
    struct Content: Sendable {
        var validators: [ResponseValidator] = []
        var monitors: [MonitorQueue] = []
        var followers = RequestFollowers()
        var interceptors: [any RequestInterceptor] = []
        var middleware: [any RequestMiddleware] = []
        var redirectHandler: (any RedirectHandler)?
        var gates: [ResponseGate] = []
        var authentication: Authentication?
        var timeouts: [RequestTimeouts.Limit] = []
        var creationHandlers: [@Sendable (OutgoingRequest) async -> Void] = []

        var isPlainBeforeSending: Bool {
            interceptors.isEmpty && middleware.isEmpty && creationHandlers.isEmpty && timeouts.isEmpty
        }

        var isPlain: Bool {
            isPlainBeforeSending && monitors.isEmpty && redirectHandler == nil && gates.isEmpty
                && authentication == nil
        }
    }

    private final class Box: Sendable {
        let content: Content
        /// Whether the session keeps it, so that there is nothing to let go of.
        let isSessions: Bool
        // Known from the beginning: to ask the content would copy it.
        let isPlain: Bool
        let isPlainBeforeSending: Bool

        init(_ content: Content, isSessions: Bool = false) {
            self.content = content
            self.isSessions = isSessions
            isPlain = content.isPlain
            isPlainBeforeSending = content.isPlainBeforeSending
        }
    }

    private var box: Box

    init(_ content: Content = Content()) { box = Box(content) }

    /// What a session's requests begin with.
    init(_ configuration: SessionConfiguration, _ monitors: [MonitorQueue]) {
        box = Box(
            Content(
                validators: configuration.validation, monitors: monitors, middleware: configuration.middleware,
                redirectHandler: configuration.redirectHandler), isSessions: true)
    }

    /// What a request has left when it has finished: those who hear of serializers that are attached late.
    var remains: RequestSettings { box.isSessions ? self : RequestSettings(Content(monitors: monitors)) }

    subscript<Value>(dynamicMember path: WritableKeyPath<Content, Value>) -> Value {
        get { box.content[keyPath: path] }
        set {
            var content = box.content
            content[keyPath: path] = newValue
            box = Box(content)
        }
    }

    // Read for each request, where a path takes its time.

    var validators: [ResponseValidator] {
        _read { yield box.content.validators }
        set { self[dynamicMember: \.validators] = newValue }
    }

    var monitors: [MonitorQueue] {
        _read { yield box.content.monitors }
        set { self[dynamicMember: \.monitors] = newValue }
    }

    var followers: RequestFollowers {
        _read { yield box.content.followers }
        set { self[dynamicMember: \.followers] = newValue }
    }

    /// Whether nobody is to be asked or told before the first hop.
    var isPlainBeforeSending: Bool { box.isPlainBeforeSending }

    /// Whether nobody is to be asked or told before the serializers, no challenge answered and no time measured.
    var isPlain: Bool { box.isPlain }

    /// Whether response gates are asked with the transport's head: middleware may give another one, so it goes first.
    var gatesSeeHead: Bool { !box.content.gates.isEmpty && box.content.middleware.isEmpty }

    var asksAboutRedirects: Bool { box.content.redirectHandler != nil }
}
