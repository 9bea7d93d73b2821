@preconcurrency import Dispatch
import Foundation

/// SIGINT (Ctrl-C) and SIGTERM as values, so that a task can be cancelled instead of the process.
enum Signals {
    static func stream() -> AsyncStream<ExitCode> {
        AsyncStream { continuation in
            let codes: [(Int32, ExitCode)] = [(SIGINT, .cancelled), (SIGTERM, .terminated)]
            let sources = codes.map { number, code in
                signal(number, SIG_IGN)
                let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
                source.setEventHandler { continuation.yield(code) }
                source.resume()
                return source
            }
            continuation.onTermination = { _ in for source in sources { source.cancel() } }
        }
    }
}

/// The first signal that the process has received.
actor Interruption {
    private(set) var code: ExitCode?

    /// Returns false if there was an earlier signal.
    func begin(_ code: ExitCode) -> Bool {
        defer { self.code = self.code ?? code }
        return self.code == nil
    }
}
