/// A challenge in `WWW-Authenticate`: a way to authenticate that a server offers (RFC 9110, section 11).
package struct AuthenticationChallenge: Hashable, Sendable {
    package struct Parameter: Hashable, Sendable {
        package let name: String
        /// The value without quotes and escapes.
        package let value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The scheme as the server wrote it. Compare it by ``isScheme(_:)``, which ignores case.
    package let scheme: String
    /// The single token that some schemes, such as Negotiate, have in place of parameters (`token68`).
    package let token: String?
    /// The parameters in order, including repeated parameters.
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

    /// Returns the challenges of all fields of a response, in order.
    ///
    /// A comma may separate two challenges or two parameters of one challenge. Therefore only a word without `=` starts
    /// a challenge. Invalid text is skipped up to the next comma outside of quotes. An invalid parameter thus does not
    /// invalidate its challenge, and quoted text is never read as a challenge.
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

    /// Reads the text between two commas: a parameter of the last challenge, or the start of another challenge.
    private mutating func readElement(_ challenges: inout [AuthenticationChallenge]) {
        guard let word = readToken() else { return }
        let isWhole = isAtEnd || rest.first?.isBlank == true
        if skipEquals() {
            // Ignore a parameter before the first challenge, because it belongs to no challenge.
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

    /// Reads a parameter's value, quoted or not. If the value is not followed by a comma or the end of the text,
    /// returns nil and reads nothing.
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
        skip(while: \.isTokenByte)
        return text(from: start)
    }

    private mutating func readToken68() -> String? {
        let start = rest
        skip { $0 == UInt8(ascii: "/") || $0.isTokenByte && !"!#$%&'*^`|".utf8.contains($0) }
        if text(from: start) != nil {
            skip { $0 == UInt8(ascii: "=") }
            let token = text(from: start)
            skip(while: \.isBlank)
            if isAtEnd { return token }
        }
        rest = start
        return nil
    }

    /// Reads a quoted text; returns nil if the closing quote is missing.
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

    /// Skips everything up to the next comma outside of quotes.
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
