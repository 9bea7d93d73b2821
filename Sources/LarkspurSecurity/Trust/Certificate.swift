/// An X.509 certificate of a server, or an expected certificate to compare with it.
public struct Certificate: Hashable, Sendable {
    /// The DER encoding of the certificate.
    public let bytes: [UInt8]
    /// The subject, as text: `CN=api.example.com,O=Example`.
    public let subject: String
    /// The issuer, as text.
    public let issuer: String
    /// The subject alternative names: IP addresses and host names. A host name may begin with the wildcard `*`.
    public let hosts: [String]
    /// The start of the validity period (`notBefore`).
    public let validFrom: Date
    /// The end of the validity period (`notAfter`).
    public let validUntil: Date
    /// The public key with its algorithm (SubjectPublicKeyInfo), in DER. A renewed certificate can have the same public
    /// key.
    public let publicKey: [UInt8]

    /// Creates a certificate from its DER encoding.
    ///
    /// - Throws: ``RequestError`` with the code `.invalidCertificate`.
    public init(_ bytes: [UInt8]) throws(RequestError) {
        do {
            self = try Certificate(reading: bytes)
        } catch {
            throw RequestError(.invalidCertificate, "\(bytes.count) bytes are not an X.509 certificate in DER")
        }
    }

    /// Returns all certificates of a PEM file, or the one certificate of a DER file.
    ///
    /// - Throws: ``RequestError`` with the code `.invalidCertificate` if a certificate is not valid or the data
    ///   contains none.
    public static func all(in data: Data) throws(RequestError) -> [Certificate] {
        let blocks = blocks(in: data)
        if !blocks.isEmpty { return try blocks.map { block throws(RequestError) in try Certificate(block) } }
        return [try Certificate([UInt8](data))]
    }

    /// Returns the decoded `CERTIFICATE` blocks of a PEM text (RFC 7468).
    private static func blocks(in data: Data) -> [[UInt8]] {
        let text = String(decoding: data, as: UTF8.self)
        return text.components(separatedBy: "-----BEGIN CERTIFICATE-----").dropFirst().compactMap { part in
            guard let end = part.firstRange(of: "-----END CERTIFICATE-----") else { return nil }
            let base64 = String(part[..<end.lowerBound])
            return Data(base64Encoded: base64, options: .ignoreUnknownCharacters).map { [UInt8]($0) }
        }
    }

    /// The pin of the certificate's public key.
    public var pin: PublicKeyPin { PublicKeyPin(of: self) }

    /// Whether subject and issuer are equal.
    public var isSelfIssued: Bool { subject == issuer }

    private init(reading bytes: [UInt8]) throws(DERReader.Malformed) {
        var outer = DERReader(bytes[...])
        var whole = try outer.next(DERReader.Tag.sequence).reader
        guard outer.isAtEnd else { throw DERReader.Malformed() }
        var fields = try whole.next(DERReader.Tag.sequence).reader
        _ = try fields.nextIf(DERReader.Tag.context(0))  // the version
        _ = try fields.next()  // the serial number
        _ = try fields.next(DERReader.Tag.sequence)  // the signature's algorithm
        let issuer = try Self.name(fields.next(DERReader.Tag.sequence))
        var validity = try fields.next(DERReader.Tag.sequence).reader
        let (from, until) = (try Self.time(validity.next()), try Self.time(validity.next()))
        let subject = try Self.name(fields.next(DERReader.Tag.sequence))
        let key = try fields.next(DERReader.Tag.sequence)
        var hosts: [String] = []
        while !fields.isAtEnd {
            let field = try fields.next()
            if field.tag == DERReader.Tag.context(3) { hosts = try Self.hosts(in: field) }
        }
        self.bytes = bytes
        (self.subject, self.issuer, self.hosts) = (subject, issuer, hosts)
        (validFrom, validUntil, publicKey) = (from, until, Array(key.encoded))
    }

    // MARK: Parts

    private static let attributes: [[UInt8]: String] = [
        [0x55, 4, 3]: "CN", [0x55, 4, 6]: "C", [0x55, 4, 7]: "L", [0x55, 4, 8]: "ST", [0x55, 4, 10]: "O",
        [0x55, 4, 11]: "OU",
    ]

    /// Returns the known attributes of a distinguished name as text, in the reverse of their order in the certificate
    /// (RFC 4514).
    private static func name(_ value: DERReader.Value) throws(DERReader.Malformed) -> String {
        var (sets, parts) = (value.reader, [String]())
        while !sets.isAtEnd {
            var set = try sets.next(DERReader.Tag.set).reader
            while !set.isAtEnd {
                var pair = try set.next(DERReader.Tag.sequence).reader
                let kind = try pair.next(DERReader.Tag.object)
                let text = try text(pair.next())
                if let name = attributes[Array(kind.content)] { parts.append("\(name)=\(text)") }
            }
        }
        return parts.reversed().joined(separator: ",")
    }

    /// Returns the text of an attribute. Escapes special characters.
    private static func text(_ value: DERReader.Value) -> String {
        let text =
            value.tag == DERReader.Tag.bmp
            ? String(decoding: pairs(value.content), as: UTF16.self) : String(decoding: value.content, as: UTF8.self)
        return line(text).unicodeScalars.reduce(into: "") { text, scalar in
            if #",+"\<>;="#.unicodeScalars.contains(scalar) { text += "\\" }
            text.unicodeScalars.append(scalar)
        }
    }

    /// Returns the text with its control characters replaced, because the server controls the text, and it is logged.
    private static func line(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { text, scalar in
            text.unicodeScalars.append(scalar.properties.generalCategory == .control ? "\u{FFFD}" : scalar)
        }
    }

    private static func pairs(_ bytes: ArraySlice<UInt8>) -> [UInt16] {
        stride(from: bytes.startIndex, to: bytes.endIndex - 1, by: 2).map {
            UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1])
        }
    }

    /// Returns the date of a UTCTime or GeneralizedTime. A UTCTime has a two-digit year: 00 to 49 mean 20xx, 50 to 99
    /// mean 19xx (RFC 5280, section 4.1.2.5).
    private static func time(_ value: DERReader.Value) throws(DERReader.Malformed) -> Date {
        var digits = String(decoding: value.content, as: UTF8.self)
        if value.tag == DERReader.Tag.utcTime { digits = (digits < "5" ? "20" : "19") + digits }
        let isTime = [DERReader.Tag.utcTime, DERReader.Tag.generalizedTime].contains(value.tag)
        guard isTime, digits.utf8.count == 15, digits.popLast() == "Z", let number = Int(digits: digits.utf8)
        else { throw DERReader.Malformed() }
        let (hour, minute, second) = (number / 10_000 % 100, number / 100 % 100, number % 100)
        let (year, month, day) = (number / 10_000_000_000, number / 100_000_000 % 100, number / 1_000_000 % 100)
        let secondOfDay = hour * 3_600 + minute * 60 + second
        guard hour < 24, minute < 60, second < 60, let date = Date(year, month, day, secondOfDay: secondOfDay)
        else { throw DERReader.Malformed() }
        return date
    }

    private static func hosts(in extensions: DERReader.Value) throws(DERReader.Malformed) -> [String] {
        var outer = extensions.reader
        var all = try outer.next(DERReader.Tag.sequence).reader
        while !all.isAtEnd {
            var one = try all.next(DERReader.Tag.sequence).reader
            let kind = try one.next(DERReader.Tag.object)
            _ = try one.nextIf(DERReader.Tag.boolean)
            var octets = try one.next(DERReader.Tag.octets).reader
            guard Array(kind.content) == [0x55, 29, 17] else { continue }
            var (names, hosts) = (try octets.next(DERReader.Tag.sequence).reader, [String]())
            while !names.isAtEnd {
                let name = try names.next()
                if name.tag == 0x82 { hosts.append(line(String(decoding: name.content, as: UTF8.self).lowercased())) }
                if name.tag == 0x87, let address = address(name.content) { hosts.append(address) }
            }
            return hosts
        }
        return []
    }

    private static func address(_ bytes: ArraySlice<UInt8>) -> String? {
        guard [4, 16].contains(bytes.count) else { return nil }
        var text = [CChar](repeating: 0, count: 64)
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        return Array(bytes).withUnsafeBytes { inet_ntop(family, $0.baseAddress, &text, socklen_t(text.count)) }
            .map { String(cString: $0) }
    }
}

extension Certificate: CustomStringConvertible {
    public var description: String { subject.isEmpty ? hosts.joined(separator: ", ") : subject }
}
