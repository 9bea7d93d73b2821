import Foundation

extension Settings {
    /// Asks for the password if `--auth` has a user alone.
    mutating func askForPassword(host: String) throws {
        guard let user = authentication, authenticationKind != .bearer, !user.contains(":") else { return }
        guard Terminal(0).isTerminal else {
            throw UsageError("--auth needs USER:PASSWORD; without a terminal lark cannot ask for the password")
        }
        guard let text = getpass("Password of \(SafeText.line(user)) for \(SafeText.line(host)): ") else {
            throw Exit(.cancelled)
        }
        authentication = "\(user):\(String(cString: text))"
    }
}
