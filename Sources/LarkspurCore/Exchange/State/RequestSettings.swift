/// The settings that can be changed on a request at any time. Each step reads the settings that it needs.
///
/// The settings are copied on write, because most requests change nothing and share the session's settings.
@dynamicMemberLookup
struct RequestSettings: Sendable {
    struct Content: Sendable {
        var validators: [ResponseValidator] = []
        var monitors: [MonitorQueue] = []
        var followers = RequestFollowers()
        var interceptors: [any RequestInterceptor] = []
        var middleware: [any RequestMiddleware] = []
        var redirectHandler: (any RedirectHandler)?
        var cachedResponseHandler: (any CachedResponseHandler)?
        var cachePolicy: CachePolicy?
        var priority: RequestPriority?
        var gates: [ResponseGate] = []
        var responder: (any ChallengeResponder)?
        var timeouts: [RequestTimeouts.Limit] = []
        var creationHandlers: [@Sendable (OutgoingRequest) async -> Void] = []
        /// The options that the request has set itself.
        var added = AddedOptions()
    }

    private final class Box: Sendable {
        let content: Content
        /// Whether the session owns these settings. A request that finishes then has no settings to release.
        let isSessions: Bool

        init(_ content: Content, isSessions: Bool = false) {
            self.content = content
            self.isSessions = isSessions
        }
    }

    private var box: Box

    init(_ content: Content = Content()) { box = Box(content) }

    /// The initial settings of a session's requests.
    init(_ configuration: SessionConfiguration, _ monitors: [MonitorQueue]) {
        box = Box(
            Content(
                validators: configuration.validation, monitors: monitors, middleware: configuration.middleware,
                redirectHandler: configuration.redirectHandler,
                cachedResponseHandler: configuration.cachedResponseHandler, gates: configuration.responseGates),
            isSessions: true)
    }

    /// The settings that a finished request keeps: its own options and the monitors, which are
    /// still told about late serializers.
    var remains: RequestSettings {
        box.isSessions ? self : RequestSettings(Content(monitors: content.monitors, added: content.added))
    }

    subscript<Value>(dynamicMember path: WritableKeyPath<Content, Value>) -> Value {
        get { box.content[keyPath: path] }
        set {
            var content = box.content
            content[keyPath: path] = newValue
            box = Box(content)
        }
    }

    /// Whether these settings contain user code of the request itself, which the session does not keep alive.
    var ownsUserCode: Bool {
        if box.isSessions { return false }
        let hasNone =
            content.interceptors.isEmpty && content.middleware.isEmpty && content.gates.isEmpty
            && content.creationHandlers.isEmpty && content.redirectHandler == nil
            && content.cachedResponseHandler == nil
        return !hasNone || content.validators.contains { !$0.isOwn }
    }

    /// All settings, read without a copy.
    var content: Content { _read { yield box.content } }
}
