/// The list in the field `tracestate`: for each tracing system its key and its value. The newest member is the first.
public struct TraceState: Hashable, Sendable, CustomStringConvertible {
    /// The maximum number of members. A longer list is not valid.
    public static let maximumMembers = 32
    /// The maximum length of the field in bytes. Of a longer list, the field leaves out members of more than 128 bytes,
    /// and then the last members.
    public static let maximumLength = 512

    private struct Member: Hashable, Sendable {
        let key: String
        let value: String

        var text: String { "\(key)=\(value)" }
        var length: Int { key.utf8.count + 1 + value.utf8.count }
    }

    private var members: [Member] = []

    /// Creates an empty list.
    public init() {}

    /// Parses the value of a field. Returns nil if a member is not valid, or if the list has more than 32 members.
    /// Empty members are skipped. Of several members with one key, only the first is kept.
    public init?(_ text: String) {
        for part in text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            let part = Self.trimmed(part)
            guard !part.isEmpty else { continue }
            guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else { return nil }
            let (key, value) = (part[..<equals], part[part.index(after: equals)...])
            guard Self.isKey(key), Self.isValue(value), members.count < Self.maximumMembers else { return nil }
            let name = String(Substring(key))
            if !members.contains(where: { $0.key == name }) {
                members.append(Member(key: name, value: String(Substring(value))))
            }
        }
    }

    /// The number of members.
    public var count: Int { members.count }

    /// The value of a key; nil if the list has no such member.
    public subscript(key: String) -> String? { members.first { $0.key == key }?.value }

    /// Sets the value of a key, and moves the member to the front, as the standard requires after a change. Returns
    /// false, and changes nothing, if the key or the value is not valid. The last member of a full list is removed.
    @discardableResult
    public mutating func update(_ key: String, to value: String) -> Bool {
        guard Self.isKey(key.utf8[...]), Self.isValue(value.utf8[...]) else { return false }
        members.removeAll { $0.key == key }
        members.insert(Member(key: key, value: value), at: 0)
        if members.count > Self.maximumMembers { members.removeLast() }
        return true
    }

    /// The value of the field; empty if there are no members. It has at most 512 bytes.
    public var description: String {
        var kept = members
        var length = kept.reduce(-1) { $0 + $1.length + 1 }
        while length > Self.maximumLength {
            let index = kept.lastIndex { $0.length > 128 } ?? kept.count - 1
            length -= kept.remove(at: index).length + 1
        }
        return kept.map(\.text).joined(separator: ",")
    }

    private static func trimmed(_ text: Substring.UTF8View) -> Substring.UTF8View {
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        let end = text.lastIndex { !isBlank($0) }.map { text.index(after: $0) } ?? text.startIndex
        return text[..<end].drop(while: isBlank)
    }

    /// Returns whether the bytes are a key: a name of up to 256 characters that begins with a letter, or a tenant of up
    /// to 241 characters, `@` and a system of up to 14.
    private static func isKey(_ text: Substring.UTF8View) -> Bool {
        guard let at = text.firstIndex(of: UInt8(ascii: "@")) else {
            return text.count <= 256 && text.first.map(isLetter) == true && text.allSatisfy(isKeyByte)
        }
        let (tenant, system) = (text[..<at], text[text.index(after: at)...])
        return tenant.count <= 241 && tenant.first.map { isLetter($0) || isDigit($0) } == true
            && tenant.allSatisfy(isKeyByte) && system.count <= 14 && system.first.map(isLetter) == true
            && system.allSatisfy(isKeyByte)
    }

    /// Returns whether the bytes are a value: up to 256 printable characters without `,` and `=`, the last not a space.
    private static func isValue(_ text: Substring.UTF8View) -> Bool {
        text.count <= 256 && !text.isEmpty && text.last != 0x20
            && text.allSatisfy { (0x20...0x7E).contains($0) && $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "=") }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) }
    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
    private static func isKeyByte(_ byte: UInt8) -> Bool {
        isLetter(byte) || isDigit(byte) || "_-*/".utf8.contains(byte)
    }
}
