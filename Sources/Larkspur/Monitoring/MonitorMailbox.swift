import LarkspurTransport

/// One monitor's own queue: events wait here in order and are handed over one at a time.
///
/// A task drains it while there is something in it: one for each burst, not one for each event, which would lose the
/// order (R5).
package final class MonitorMailbox: Sendable {
    private enum Drain { case idle, running }

    private struct Mail {
        var drain = Drain.idle
        var waiting: [Letter] = []
    }

    private struct Letter: Sendable {
        let event: RequestEvent
        let request: any Request
    }

    private let monitor: any EventMonitor
    private let box = Protected(Mail())

    package init(_ monitor: any EventMonitor) {
        self.monitor = monitor
    }

    package func post(_ event: RequestEvent, from request: any Request) {
        let letter = Letter(event: event, request: request)
        let before = box.withLock { mail in
            mail.waiting.append(letter)
            defer { mail.drain = .running }
            return mail.drain
        }
        // Unstructured: whoever posts must not wait for the monitor.
        if before == .idle { Task { self.run() } }
    }

    private func run() {
        while let letters = take() {
            for letter in letters { monitor.request(letter.request, did: letter.event) }
        }
    }

    private func take() -> [Letter]? {
        box.withLock { mail in
            if mail.waiting.isEmpty {
                mail.drain = .idle
                return nil
            }
            let letters = mail.waiting
            mail.waiting = []
            return letters
        }
    }
}
