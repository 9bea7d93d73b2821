/// The form of a name that every file system distinguishes: small letters, digits and hyphens, and `_` with two digits
/// for each other byte.
extension RecordName {
    private static let digits = Array("0123456789abcdef".utf8)

    var escaped: [UInt8] {
        var escaped: [UInt8] = []
        for byte in bytes {
            switch byte {
            case 0x30...0x39, 0x61...0x7A, UInt8(ascii: "-"): escaped.append(byte)
            default: escaped += [UInt8(ascii: "_"), Self.digits[Int(byte >> 4)], Self.digits[Int(byte & 15)]]
            }
        }
        return escaped
    }

    /// Reads an escaped name. Returns nil if it is not one.
    init?(_ kind: Kind, escaped: some Collection<UInt8>) {
        var bytes: [UInt8] = []
        var rest = escaped[...]
        while let byte = rest.popFirst() {
            switch byte {
            case 0x30...0x39, 0x61...0x7A, UInt8(ascii: "-"): bytes.append(byte)
            case UInt8(ascii: "_"):
                guard let high = rest.popFirst().flatMap(Self.digits.firstIndex),
                    let low = rest.popFirst().flatMap(Self.digits.firstIndex)
                else { return nil }
                bytes.append(UInt8(high << 4 | low))
            default: return nil
            }
        }
        guard !bytes.isEmpty else { return nil }
        self.init(kind, bytes: bytes)
    }
}
