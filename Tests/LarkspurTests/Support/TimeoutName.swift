import Larkspur

extension RequestError {
    /// The timeout that has passed, such as "total" or "first byte". Only the message has it.
    var timeoutName: String? {
        guard code == .timedOut, let end = message.range(of: " timeout of "),
            let start = message[..<end.lowerBound].range(of: "the ", options: .backwards)
        else { return nil }
        return String(message[start.upperBound..<end.lowerBound])
    }
}
