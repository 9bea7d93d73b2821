extension RequestURL {
    /// The slow path of the parser: normalises or refuses a text that `Scanner` did not accept. Only this type reports
    /// the reason of a refusal.
    struct Normaliser {
        enum Mode {
            /// Removes dot segments only from paths that are known to be hierarchical.
            case normal
            /// Removes dot segments from the paths of unknown schemes too.
            case removingDots
            /// Leaves path, query and fragment as they are.
            case verbatim
        }

        private let input: [UInt8]
        private let mode: Mode
        private let idna: ((String) -> String?)?

        private var output: [UInt8] = []
        private var layout = RequestURL.Layout()
        private var userInfo: String?

        init(_ text: String, mode: Mode, idna: ((String) -> String?)?) throws(RequestURLError) {
            self.input = Array(text.utf8)
            try Self.check(input)
            try Self.checkEnds(text)
            self.mode = mode
            self.idna = idna
        }

        mutating func url() throws(RequestURLError) -> RequestURL {
            guard let schemeEnd = Self.schemeEnd(input) else { throw schemeError }
            output.reserveCapacity(input.count + 16)
            appendScheme(input[..<schemeEnd])
            var rest = input[(schemeEnd + 1)...]
            if rest.starts(with: "//".utf8) {
                let authority = rest.dropFirst(2).prefix { !$0.endsAuthority }
                try appendAuthority(authority)
                rest = input[authority.endIndex...]
            }
            if mode == .verbatim { try Self.checkVerbatim(rest) }
            let beforeFragment = rest.prefix { $0 != UInt8(ascii: "#") }
            let path = beforeFragment.prefix { $0 != UInt8(ascii: "?") }
            try appendPath(path)
            layout.queryStart = offset
            append(beforeFragment[path.endIndex...], .query)
            layout.fragmentStart = offset
            append(rest[beforeFragment.endIndex...], .fragment)
            guard output.count <= RequestURL.limit else { throw RequestURLError(.tooLong, at: input.count) }
            return RequestURL(text: String(decoding: output, as: UTF8.self), layout: layout, userInfo: userInfo)
        }

        /// The current length of the output. The value wraps if the output is too long; `url()` checks the length at
        /// the end.
        private var offset: UInt16 { UInt16(truncatingIfNeeded: output.count) }

        // MARK: Scheme and path

        private mutating func appendScheme(_ scheme: ArraySlice<UInt8>) {
            output += scheme.map(\.asciiLowercased)
            layout.scheme = RequestURL.Scheme(key: output.reduce(0) { $0 << 8 | UInt64($1) })
            layout.schemeEnd = offset
            output.append(UInt8(ascii: ":"))
            layout.hostStart = offset
            layout.hostEnd = offset
            layout.pathStart = offset
        }

        /// Returns the end of a leading scheme, or nil for a relative reference.
        static func schemeEnd(_ text: some Collection<UInt8>) -> Int? {
            guard text.first?.isASCIILetter == true else { return nil }
            let name = text.prefix { ByteSet.schemeTail.contains($0.asciiLowercased) }
            return text.dropFirst(name.count).first == UInt8(ascii: ":") ? name.count : nil
        }

        private var schemeError: RequestURLError {
            let name = input.prefix { $0 != UInt8(ascii: ":") && !$0.endsAuthority }
            let hasName = !name.isEmpty && name.count < input.count && input[name.count] == UInt8(ascii: ":")
            return RequestURLError(hasName ? .schemeInvalid : .schemeMissing, at: 0)
        }

        private mutating func appendPath(_ path: ArraySlice<UInt8>) throws(RequestURLError) {
            let start = output.count
            var escaped: [UInt8] = []
            if mode != .verbatim { Percent.append(path, keeping: .path, to: &escaped) }
            switch mode {
            case .verbatim: output += path
            case .normal where !layout.isHierarchical: output += escaped
            case .normal, .removingDots: Self.appendRemovingDots(escaped[...], to: &output)
            }
            if output.count == start, layout.isHierarchical { output.append(UInt8(ascii: "/")) }
            if !layout.hasAuthority, output[start...].starts(with: "//".utf8) {
                throw RequestURLError(.pathAmbiguous, at: path.startIndex)
            }
        }

        /// Appends a path without its dot segments, RFC 3986 section 5.2.4.
        static func appendRemovingDots(_ path: ArraySlice<UInt8>, to output: inout [UInt8]) {
            let slash = UInt8(ascii: "/")
            let start = output.count
            var rest = path
            while let first = rest.first {
                let isRooted = first == slash
                let segment = rest.dropFirst(isRooted ? 1 : 0).prefix { $0 != slash }
                let isLast = segment.endIndex == path.endIndex
                let climbs = segment.elementsEqual("..".utf8)
                if climbs || segment.elementsEqual(".".utf8) {
                    if isRooted {
                        // Remove the last segment and its slash, but never more than this path has written.
                        while climbs, output.count > start, output.removeLast() != slash {}
                        if isLast { output.append(slash) }
                    }
                    rest = path[segment.endIndex...].dropFirst(isRooted ? 0 : 1)
                } else {
                    output += rest[..<segment.endIndex]
                    rest = path[segment.endIndex...]
                }
            }
        }

        /// Appends a query or fragment with its delimiter, or nothing if the part is empty.
        private mutating func append(_ part: ArraySlice<UInt8>, _ allowed: ByteSet) {
            guard mode != .verbatim, let delimiter = part.first else { return output += part }
            output.append(delimiter)
            Percent.append(part.dropFirst(), keeping: allowed, to: &output)
        }

        // MARK: Authority

        private mutating func appendAuthority(_ authority: ArraySlice<UInt8>) throws(RequestURLError) {
            if let backslash = authority.firstIndex(of: UInt8(ascii: "\\")) {
                throw RequestURLError(.backslashInAuthority, at: backslash)
            }
            output += "//".utf8
            layout.hostStart = offset
            var hostAndPort = authority
            if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
                try takeUserInfo(authority[..<at])
                hostAndPort = authority[(at + 1)...]
            }
            let isLiteral = hostAndPort.first == UInt8(ascii: "[")
            let rest = try isLiteral ? appendLiteral(hostAndPort) : appendName(hostAndPort)
            let isEmpty = output.count == Int(layout.hostStart)
            if isEmpty, layout.scheme != .other || !authority.isEmpty {
                throw RequestURLError(.hostMissing, at: hostAndPort.startIndex)
            }
            layout.hostEnd = offset
            try appendPort(rest)
            layout.pathStart = offset
        }

        /// Reads user and password. As in every browser, the host starts after the last `@`, so an `@` in a password
        /// does not change the host.
        private mutating func takeUserInfo(_ bytes: ArraySlice<UInt8>) throws(RequestURLError) {
            guard !bytes.isEmpty else { return }
            let decoded = Percent.decodedBytes(bytes)
            guard decoded.allSatisfy({ $0 >= 32 && $0 != 127 }),
                String(decoding: decoded, as: UTF8.self).utf8.elementsEqual(decoded)
            else { throw RequestURLError(.userInfoInvalid, at: bytes.startIndex) }
            var normal: [UInt8] = []
            Percent.append(bytes, keeping: .userInfo, to: &normal)
            userInfo = String(decoding: normal, as: UTF8.self)
        }

        /// Appends an IPv6 address and returns the bytes after the closing bracket.
        private mutating func appendLiteral(_ bytes: ArraySlice<UInt8>) throws(RequestURLError) -> ArraySlice<UInt8> {
            guard let close = bytes.firstIndex(of: UInt8(ascii: "]")) else {
                throw RequestURLError(.ipv6Invalid, at: bytes.startIndex)
            }
            let address = bytes[(bytes.startIndex + 1)..<close]
            if address.first?.asciiLowercased == UInt8(ascii: "v") {
                throw RequestURLError(.ipFuture, at: address.startIndex)
            }
            if let zone = address.firstIndex(of: UInt8(ascii: "%")) { throw RequestURLError(.ipv6Zone, at: zone) }
            guard let groups = IPAddress.groups(address) else {
                throw RequestURLError(.ipv6Invalid, at: address.startIndex)
            }
            output += IPAddress.literal(groups).utf8
            return bytes[(close + 1)...]
        }

        /// Appends a host name or IPv4 address and returns the bytes after it. Percent triplets are decoded first, so
        /// that `%31%32%37.0.0.1` is recognised as the address 127.0.0.1.
        private mutating func appendName(_ bytes: ArraySlice<UInt8>) throws(RequestURLError) -> ArraySlice<UInt8> {
            let raw = bytes.prefix { $0 != UInt8(ascii: ":") }
            var name = Percent.decodedBytes(raw)
            let isExact = name.count == raw.count
            var isForeign = false
            if let idna, name.contains(where: { $0 >= 128 }) {
                let unicode = String(decoding: name, as: UTF8.self)
                if unicode.utf8.elementsEqual(name), let ascii = idna(unicode) {
                    name = Array(ascii.utf8)
                    isForeign = true
                }
            }
            name = name.map(\.asciiLowercased)
            if let fault = HostName.fault(in: name) {
                throw RequestURLError(fault.reason, at: raw.startIndex + (isExact && !isForeign ? fault.offset : 0))
            }
            output += name
            return bytes[raw.endIndex...]
        }

        private mutating func appendPort(_ bytes: ArraySlice<UInt8>) throws(RequestURLError) {
            guard let colon = bytes.first else { return }
            let digits = bytes.dropFirst()
            guard colon == UInt8(ascii: ":"), digits.allSatisfy(\.isASCIIDigit) else {
                throw RequestURLError(.portInvalid, at: bytes.startIndex)
            }
            // The value is limited in each step, so that a thousand digits cannot overflow `Int`.
            let value = digits.reduce(0) { min($0 * 10 + Int($1 - UInt8(ascii: "0")), 1 << 16) }
            guard let port = UInt16(exactly: value) else { throw RequestURLError(.portInvalid, at: digits.startIndex) }
            guard !digits.isEmpty, port != layout.scheme.defaultPort else { return }
            layout.port = port
            output += ":\(port)".utf8
        }

        // MARK: Checks on the whole text

        /// Checks the length, and refuses control characters, including the C1 set. A line break that reached the
        /// request line would start a second request.
        static func check(_ bytes: [UInt8]) throws(RequestURLError) {
            guard bytes.count <= RequestURL.limit else { throw RequestURLError(.tooLong, at: RequestURL.limit) }
            var previous: UInt8 = 0
            for offset in bytes.indices {
                let byte = bytes[offset]
                if byte < 32 || byte == 127 { throw RequestURLError(.controlCharacter, at: offset) }
                if previous == 0xC2, byte < 0xA0 { throw RequestURLError(.controlCharacter, at: offset - 1) }
                previous = byte
            }
        }

        /// Checks that all bytes are printable ASCII, the only characters that are valid on the wire without escapes.
        private static func checkVerbatim(_ bytes: ArraySlice<UInt8>) throws(RequestURLError) {
            guard let offset = bytes.firstIndex(where: { $0 <= 0x20 || $0 >= 0x7F }) else { return }
            throw RequestURLError(.unescapedCharacter, at: offset)
        }

        /// Refuses white space at either end, including Unicode white space. Such white space comes from copying and is
        /// not part of the URL.
        static func checkEnds(_ text: String) throws(RequestURLError) {
            let scalars = text.unicodeScalars
            if scalars.first?.properties.isWhitespace == true { throw RequestURLError(.surroundingWhitespace, at: 0) }
            guard let last = scalars.last, last.properties.isWhitespace else { return }
            throw RequestURLError(.surroundingWhitespace, at: text.utf8.count - UTF8.width(last))
        }
    }
}
