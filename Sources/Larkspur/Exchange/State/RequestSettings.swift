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
    }

    private final class Box: Sendable {
        let content: Content
        /// Whether the session keeps it, so that there is nothing to let go of.
        let isSessions: Bool

        init(_ content: Content, isSessions: Bool = false) {
            self.content = content
            self.isSessions = isSessions
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
    var remains: RequestSettings { box.isSessions ? self : RequestSettings(Content(monitors: content.monitors)) }

    subscript<Value>(dynamicMember path: WritableKeyPath<Content, Value>) -> Value {
        get { box.content[keyPath: path] }
        set {
            var content = box.content
            content[keyPath: path] = newValue
            box = Box(content)
        }
    }

    /// Whether the request holds code of the user's that its session does not hold.
    var ownsUserCode: Bool {
        if box.isSessions { return false }
        let isQuiet =
            content.interceptors.isEmpty && content.middleware.isEmpty && content.gates.isEmpty
            && content.creationHandlers.isEmpty && content.redirectHandler == nil
        return !isQuiet || content.validators.contains { !$0.isOwn }
    }

    /// All settings, to be read without a copy.
    var content: Content { _read { yield box.content } }
}
