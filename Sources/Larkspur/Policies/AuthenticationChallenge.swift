/// One way to prove who one is, as a server offers it in `WWW-Authenticate` (RFC 9110, section 11).
package struct AuthenticationChallenge: Hashable, Sendable {
    package struct Parameter: Hashable, Sendable {
        package let name: String
        /// Without the quotes, if there were some, and what they escaped.
        package let value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// As it came; `isScheme` compares it.
    package let scheme: String
    /// The scheme's single word in place of parameters, as Negotiate has one.
    package let token: String?
    /// In order, repeats included.
    package fileprivate(set) var parameters: [Parameter]

    package init(_ scheme: String, token: String? = nil, parameters: [Parameter] = []) {
        self.scheme = scheme
        self.token = token
        self.parameters = parameters
    }

    package func isScheme(_ name: String) -> Bool { HTTPHeaders.areEqual(scheme, name) }

    package subscript(name: String) -> String? {
        parameters.first { HTTPHeaders.areEqual($0.name, name) }?.value
    }

    /// The challenges of all fields of a response, in order.
    ///
    /// Commas stand between challenges as well as between the parameters of one, so only a word without `=` begins a
    /// challenge. What breaks the grammar is left out as far as the next comma outside of quotes: a damaged parameter does
    /// not take its challenge along, and a quoted text is never taken for a challenge.
    package static func parse(_ fields: some Sequence<String>) -> [AuthenticationChallenge] {
        fields.flatMap { field in
            var scanner = ChallengeScanner(rest: Array(field.utf8)[...])
            return scanner.challenges()
        }
    }
}

private struct ChallengeScanner {
    var rest: ArraySlice<UInt8>

    mutating func challenges() -> [AuthenticationChallenge] {
        var challenges: [AuthenticationChallenge] = []
        while !rest.isEmpty {
            skip { $0.isBlank || $0 == UInt8(ascii: ",") }
            readElement(&challenges)
            skipToComma()
        }
        return challenges
    }

    /// What stands between two commas: a parameter of the last challenge, or the beginning of another one.
    private mutating func readElement(_ challenges: inout [AuthenticationChallenge]) {
        guard let word = readToken() else { return }
        let isWhole = isAtEnd || rest.first?.isBlank == true
        if skipEquals() {
            // Before the first challenge it belongs to none.
            guard let value = readValue(), !challenges.isEmpty else { return }
            challenges[challenges.count - 1].parameters.append(.init(word, value))
        } else if isWhole {
            var challenge = AuthenticationChallenge(word, token: readToken68())
            if challenge.token == nil, let name = readToken(), skipEquals(), let value = readValue() {
                challenge.parameters = [.init(name, value)]
            }
            challenges.append(challenge)
        }
    }

    private mutating func skipEquals() -> Bool {
        skip(while: \.isBlank)
        guard rest.first == UInt8(ascii: "=") else { return false }
        rest.removeFirst()
        skip(while: \.isBlank)
        return true
    }

    /// A parameter's value, in quotes or not; nil, and nothing is read, if it does not reach to the comma.
    private mutating func readValue() -> String? {
        let start = rest
        if let value = rest.first == UInt8(ascii: "\"") ? readQuoted() : readToken() {
            skip(while: \.isBlank)
            if isAtEnd { return value }
        }
        rest = start
        return nil
    }

    private mutating func readToken() -> String? {
        let start = rest
        skip(while: OutgoingRequest.isTokenByte)
        return text(from: start)
    }

    private mutating func readToken68() -> String? {
        let start = rest
        skip { $0 == UInt8(ascii: "/") || OutgoingRequest.isTokenByte($0) && !"!#$%&'*^`|".utf8.contains($0) }
        if text(from: start) != nil {
            skip { $0 == UInt8(ascii: "=") }
            let token = text(from: start)
            skip(while: \.isBlank)
            if isAtEnd { return token }
        }
        rest = start
        return nil
    }

    /// The text in quotes; nil if they are not closed.
    private mutating func readQuoted() -> String? {
        var text: [UInt8] = []
        rest.removeFirst()
        while var byte = rest.popFirst() {
            if byte == UInt8(ascii: "\"") { return String(decoding: text, as: UTF8.self) }
            if byte == UInt8(ascii: "\\") {
                guard let escaped = rest.popFirst() else { return nil }
                byte = escaped
            }
            text.append(byte)
        }
        return nil
    }

    /// Leaves the comma, and everything in quotes before it, behind.
    private mutating func skipToComma() {
        while let byte = rest.first, byte != UInt8(ascii: ",") {
            if byte == UInt8(ascii: "\"") { _ = readQuoted() } else { rest.removeFirst() }
        }
    }

    private var isAtEnd: Bool { rest.isEmpty || rest.first == UInt8(ascii: ",") }

    private mutating func skip(while isSkipped: (UInt8) -> Bool) {
        rest = rest.drop(while: isSkipped)
    }

    private func text(from start: ArraySlice<UInt8>) -> String? {
        let bytes = start[..<rest.startIndex]
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }
}
