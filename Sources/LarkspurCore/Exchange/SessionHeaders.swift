/// The header fields that a session adds to its requests. They can be changed while the session is in use.
package final class SessionHeaders: Sendable {
    private struct State {
        var fields: HTTPHeaders
        /// The fields if they are valid for every request, else empty. They are checked once for all requests.
        var known: HTTPHeaders
        var version = 0

        init(_ fields: HTTPHeaders) {
            self.fields = fields
            known = OutgoingRequest.areAlwaysFine(fields) ? fields : HTTPHeaders()
        }
    }

    // Immutable: most sessions never change their fields, so that requests need no lock.
    private let first: State
    private let isChanged = AtomicFlag()
    // Mutable state, guarded by the lock of `Protected`
    private let box: Protected<State>

    init(_ fields: HTTPHeaders) {
        first = State(fields)
        box = Protected(first)
    }

    /// The current fields.
    var fields: HTTPHeaders { isChanged.isRaised ? box.withLock { $0.fields } : first.fields }

    /// The current fields if they are valid for every request, else empty.
    var known: HTTPHeaders { isChanged.isRaised ? box.withLock { $0.known } : first.known }

    /// Changes the fields. If another thread changes them meanwhile, the closure is called again with the new fields,
    /// because it is user code, which must not run under the lock (rule R1).
    func update(_ change: (inout HTTPHeaders) throws -> Void) rethrows {
        var isStored = false
        while !isStored {
            let (before, version) = box.withLock { ($0.fields, $0.version) }
            var fields = before
            try change(&fields)
            var new = State(fields)
            new.version = version + 1
            isStored = box.withLock { state in
                guard state.version == version else { return false }
                state = new
                return true
            }
        }
        isChanged.raise()
    }
}
