import Foundation
import Larkspur

/// A WebSocket: lines of standard input are sent, and messages are printed as they come.
struct SocketRun {
    let settings: Settings
    let plan: RequestPlan
    let session: Session
    let output: Terminal
    /// The time without a message after which the socket is closed, once standard input has ended.
    private static let quietTime = Duration.seconds(1)

    init(settings: Settings, plan: RequestPlan, session: Session, output: Terminal) {
        self.settings = settings
        self.plan = plan
        self.session = session
        self.output = output
    }

    func run() async throws -> ExitCode {
        let socket = await session.webSocket(plan.url, headers: plan.headers)
        let printer = MessagePrinter(settings, output)
        let head = try await socket.opened
        if settings.printed?.contains("h") ?? output.isTerminal { try printer.print(head) }

        let activity = Activity()
        // The task outlives this function if a read of standard input never returns; the end of the process ends it.
        let sender = Task {
            guard listensToInput else { return }
            for try await line in StandardInput().lines { try await socket.send(line) }
            await activity.waitForQuiet(Self.quietTime)
            try? await socket.close()
        }
        defer { sender.cancel() }
        for try await message in socket.messages {
            await activity.mark()
            try show(message, printer)
        }
        let end = await socket.closed
        if Terminal.error.isTerminal { try? Terminal.error.write("closed: \(SafeText.line("\(end)"))\n") }
        return end.isClean ? .success : .connection
    }

    private var listensToInput: Bool {
        !settings.ignoresInput && (StandardInput.isPiped || Terminal(0).isTerminal)
    }

    private func show(_ message: WebSocketMessage, _ printer: MessagePrinter) throws {
        switch message {
        case .text(let text):
            let isJSON = (try? JSON(text: text)) != nil
            let shown = isJSON ? JSONPainter(style: printer.style).painted(text) : printer.style.safe(text)
            try output.write(shown + "\n")
        case .data(let data):
            guard printer.style.escapes else { return try output.write(data) }
            try printer.note("a binary message, \(MessagePrinter.bytes(UInt64(data.count)))")
            try output.write("\n")
        }
    }
}

/// The time of the last message.
private actor Activity {
    private var last = ContinuousClock.now

    func mark() { last = .now }

    /// Returns when no message has come for this time.
    func waitForQuiet(_ time: Duration) async {
        last = .now
        while !Task.isCancelled {
            let end = last + time
            if end <= .now { return }
            try? await Task.sleep(until: end, clock: .continuous)
        }
    }
}
