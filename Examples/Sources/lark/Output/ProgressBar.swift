import Foundation
import Larkspur

/// A progress bar in the last line of a terminal: `█████░░░░░ 48 %  12 MB of 25 MB  3.1 MB/s  4 s left`.
///
/// It draws at most ten times a second. Without a terminal on standard error it draws nothing.
actor ProgressBar {
    private let terminal = Terminal.error
    private let label: String
    private var lastDrawing: ContinuousClock.Instant?
    private var latest: TransferProgress?
    private var isFinished = false
    private let start = ContinuousClock.now
    private let delay: Duration

    /// - Parameter delay: The time after which the bar appears, so that a short transfer has none.
    init(_ label: String, after delay: Duration = .zero) {
        self.label = label
        self.delay = delay
    }

    /// Follows a transfer to its end. The rate and the time left are those of Foundation's `Progress`.
    func follow(_ transfer: RequestSequence<TransferProgress>, _ progress: Progress) async {
        // The clock draws the last state of a transfer that has stopped, and its rate.
        let clock = Task {
            while !Task.isCancelled {
                try? await Task.sleep(for: .milliseconds(100))
                if let latest { await draw(latest, progress) }
            }
        }
        for await current in transfer {
            latest = current
            await draw(current, progress)
        }
        clock.cancel()
    }

    private func draw(_ current: TransferProgress, _ progress: Progress) async {
        await draw(
            current, rate: progress.userInfo[.throughputKey] as? Int,
            left: progress.userInfo[.estimatedTimeRemainingKey] as? Double)
    }

    /// Draws the state of something that is counted, for example of requests.
    func draw(_ current: TransferProgress, rate: Int?, left: Double?, unit: String? = nil) async {
        let now = ContinuousClock.now
        let isRecent = lastDrawing.map { now - $0 < .milliseconds(100) } ?? (now - start < delay)
        guard terminal.isTerminal, !isFinished, !isRecent || (lastDrawing != nil && current.fraction == 1) else {
            return
        }
        let isFirst = lastDrawing == nil
        lastDrawing = now
        if isFirst { await Cursor.shared.hide() }
        func amount(_ count: UInt64) -> String { unit.map { "\(count) \($0)" } ?? MessagePrinter.bytes(count) }
        var parts = [label, amount(current.completed)]
        if let total = current.total {
            parts[1] = (unit == nil ? amount(current.completed) : "\(current.completed)") + " of \(amount(total))"
        }
        if let rate { parts.append("\(amount(UInt64(max(0, rate))))/s") }
        if let left, current.fraction != 1 { parts.append("\(Self.time(left)) left") }
        var line = parts.joined(separator: "  ")
        if let fraction = current.fraction {
            line = "\(Int(fraction * 100)) %".rightAligned(to: 6) + "  " + line
            let width = min(30, terminal.size.columns - line.count - 2)
            if width >= 5 {
                let filled = Int(fraction * Double(width))
                line = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled) + line
            }
        }
        try? terminal.write("\r\u{1B}[K" + line.prefix(terminal.size.columns - 1))
    }

    /// Removes the bar, or keeps its last state, and shows the cursor again.
    func finish(keeps: Bool = false) async {
        isFinished = true
        guard lastDrawing != nil else { return }
        lastDrawing = nil
        try? terminal.write(keeps ? "\n" : "\r\u{1B}[K")
        await Cursor.shared.show()
    }

    private static func time(_ seconds: Double) -> String {
        let seconds = Int(min(max(0, seconds), 3_600_000).rounded(.up))
        if seconds < 60 { return "\(seconds) s" }
        if seconds < 3_600 { return "\(seconds / 60) min \(seconds % 60) s" }
        return "\(seconds / 3_600) h \(seconds % 3_600 / 60) min"
    }
}

/// The cursor of the terminal on standard error. It is shown again whenever lark ends.
actor Cursor {
    static let shared = Cursor()
    private var isHidden = false

    func hide() {
        isHidden = true
        try? Terminal.error.write("\u{1B}[?25l")
    }

    func show() {
        guard isHidden else { return }
        isHidden = false
        try? Terminal.error.write("\u{1B}[?25h")
    }
}
