internal import CLarkspur
import Larkspur

/// What other threads have to say to a server's thread: commands in a box, and one wake-up for all that wait there.
final class MockInbox: Sendable {
    enum Command: Sendable {
        case play(MockResponse, on: MockConnectionID)
        case goOn(MockConnectionID)
        case close(MockConnectionID)
        case stop
    }

    private struct State: Sendable {
        var commands: [Command] = []
        /// Nil after the thread's end.
        var waker: MockWaker?
    }

    private let box: Protected<State>

    init(_ waker: MockWaker) { box = Protected(State(waker: waker)) }

    func post(_ command: Command) {
        let waker = box.withLock { state -> MockWaker? in
            guard state.waker != nil else { return nil }
            state.commands.append(command)
            return state.commands.count == 1 ? state.waker : nil
        }
        waker?.wake()
    }

    func take() -> [Command] {
        box.withLock { state in
            defer { state.commands = [] }
            return state.commands
        }
    }

    /// For the thread, at its end: what is posted later goes nowhere.
    func close() { box.withLock { $0 = State() } }
}

/// A connection's name: its descriptor alone may belong to another one by now.
struct MockConnectionID: Sendable {
    let descriptor: Int32
    let number: Int
}

/// A poller that is closed when nobody can wake it any more.
final class MockWaker: Sendable {
    let poller: clarkspur_poller

    init() throws {
        var poller = clarkspur_poller()
        guard clarkspur_poller_open(&poller) else { throw POSIXError.current }
        self.poller = poller
    }

    deinit {
        var poller = poller
        clarkspur_poller_close(&poller)
    }

    func wake() {
        var poller = poller
        clarkspur_poller_wake(&poller)
    }
}

extension POSIXError {
    static var current: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}
