internal import CLarkspur
import Larkspur

/// The queue of commands from other threads to a server's thread. If several commands are pending, only the first of
/// them has woken the thread.
final class MockCommandQueue: Sendable {
    enum Command: Sendable {
        case play(MockResponse, on: MockConnectionID)
        case proceed(MockConnectionID)
        case write(Data, on: MockConnectionID)
        case setReading(Bool, on: MockConnectionID)
        case endSocket(MockConnectionID, isReset: Bool)
        case close(MockConnectionID)
        case stop
    }

    private struct State: Sendable {
        var commands: [Command] = []
        /// The waker of the server's thread; nil after the thread has ended.
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

    /// Closes the queue when the thread ends; later commands are discarded.
    func close() { box.withLock { $0 = State() } }
}

/// The identifier of a connection. The descriptor alone is not enough, because a later connection may get the same
/// descriptor.
struct MockConnectionID: Sendable {
    let descriptor: Int32
    let number: Int
}

/// A poller that is closed when the last reference to this object is released, so that no thread can wake a closed
/// poller.
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
