/// Decides when the system may suspend the app again: after the system has reported the events of all transfers, and
/// the library has written their outcomes or has started further tasks.
struct BackgroundEventGate {
    /// The transfers whose task has ended, and whose outcome is not on disk yet.
    private var unsettled: Set<UUID> = []
    private var isReported = false

    mutating func didEnd(_ id: UUID) { unsettled.insert(id) }

    /// Returns whether the app has handled all events.
    mutating func didSettle(_ id: UUID) -> Bool {
        unsettled.remove(id)
        return open()
    }

    /// The system has reported all events. Returns whether the app has handled them.
    mutating func didReportAll() -> Bool {
        isReported = true
        return open()
    }

    private mutating func open() -> Bool {
        guard isReported, unsettled.isEmpty else { return false }
        isReported = false
        return true
    }
}

/// The completion handlers that an app delegate received with background events.
///
/// The system's handlers are not sendable, so they stay on the main actor.
@MainActor
struct BackgroundEventHandlers {
    static var shared = BackgroundEventHandlers()

    private var handlers: [String: [() -> Void]] = [:]
    /// The identifiers whose events were handled before the app delegate passed the handler.
    private var handled: Set<String> = []

    /// Stores a handler. Returns it if the events were handled before.
    mutating func add(_ handler: @escaping () -> Void, of identifier: String) -> [() -> Void] {
        if handled.remove(identifier) != nil { return [handler] }
        handlers[identifier, default: []].append(handler)
        return []
    }

    /// Returns the handlers to call after the app has handled all events.
    mutating func take(of identifier: String) -> [() -> Void] {
        guard let taken = handlers.removeValue(forKey: identifier) else {
            handled.insert(identifier)
            return []
        }
        return taken
    }
}

#if canImport(Darwin)
    extension BackgroundTransfers {
        /// Passes on the completion handler of the app delegate. It is called when the outcomes of all transfers that
        /// have ended are on disk.
        ///
        ///     func application(
        ///         _ application: UIApplication, handleEventsForBackgroundURLSession identifier: String,
        ///         completionHandler: @escaping () -> Void
        ///     ) {
        ///         BackgroundTransfers.handleEvents(identifier: identifier, completion: completionHandler)
        ///     }
        ///
        /// Also create the ``BackgroundTransfers`` with this identifier, before or after the call: without it the
        /// system cannot deliver the events.
        @MainActor
        public static func handleEvents(identifier: String, completion: @escaping () -> Void) {
            for handler in BackgroundEventHandlers.shared.add(completion, of: identifier) { handler() }
        }
    }
#endif
