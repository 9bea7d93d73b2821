/// What can be set on a request at any time; each is looked at when its stage comes.
@dynamicMemberLookup
struct RequestSettings: Sendable {
    var validators: [ResponseValidator] = []
    var monitors: [MonitorMailbox] = []
    var followers = RequestFollowers()
    /// Nil where nothing of it is set, as in most requests: one look tells.
    private var rare: Rare.Box?

    struct Rare: Sendable {
        var interceptors: [any RequestInterceptor] = []
        var middleware: [any RequestMiddleware] = []
        var redirectHandler: (any RedirectHandler)?
        var gates: [ResponseGate] = []
        var authentication: Authentication?
        var timeouts: [RequestTimeouts.Limit] = []
        var creationHandlers: [@Sendable (OutgoingRequest) async -> Void] = []

        /// Immutable, because settings that are copies of each other share it.
        fileprivate final class Box: Sendable {
            let content: Rare

            init(_ content: Rare) {
                self.content = content
            }
        }
    }

    init(monitors: [MonitorMailbox] = []) {
        self.monitors = monitors
    }

    /// What a session's requests begin with.
    init(_ configuration: SessionConfiguration, _ monitors: [MonitorMailbox]) {
        self.init(monitors: monitors)
        validators = configuration.validation
        if !configuration.middleware.isEmpty { self.middleware = configuration.middleware }
        if let handler = configuration.redirectHandler { self.redirectHandler = handler }
    }

    subscript<Value>(dynamicMember path: WritableKeyPath<Rare, Value>) -> Value {
        get { (rare?.content ?? Rare())[keyPath: path] }
        set {
            var content = rare?.content ?? Rare()
            content[keyPath: path] = newValue
            rare = Rare.Box(content)
        }
    }

    /// Whether nobody is to be asked or told before the first hop.
    var isPlainBeforeSending: Bool {
        guard let rare = rare?.content else { return true }
        return rare.interceptors.isEmpty && rare.middleware.isEmpty && rare.creationHandlers.isEmpty
            && rare.timeouts.isEmpty
    }

    /// Whether nobody is to be asked or told before the serializers, no challenge answered and no time measured.
    var isPlain: Bool { rare == nil && monitors.isEmpty }

    var asksAboutRedirects: Bool { rare?.content.redirectHandler != nil }
}
