/// The values of an object by converted key. A class, because a container is copied for each member that is decoded:
/// copying no class costs nothing, and copying no dictionary does.
private final class JSONKeyIndex {
    let values: [String: Int]

    init(_ values: [String: Int]) { self.values = values }
}

/// The members of an object, as a type's `init(from:)` reads them.
struct JSONKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    private let scan: JSONScan
    private let object: Int
    /// The values by converted key, if the decoder converts keys or the object has many unusual keys.
    private let index: JSONKeyIndex?

    /// The maximum number of members of which unusual keys are searched without an index.
    private static var searchLimit: Int { 16 }

    init(_ scan: JSONScan, _ object: Int, isDictionary: Bool) {
        (self.scan, self.object) = (scan, object)
        let node = scan.nodes[object]
        // A search for an unusual key compares strings. Without an index, a dictionary would search all keys for each.
        let hasIndex = scan.convertsKeys || node.has(JSONNode.hasUnusualKeys) && node.count > Self.searchLimit
        index = hasIndex ? JSONKeyIndex(scan.convertedMembers(of: object, isDictionary: isDictionary)) : nil
    }

    var codingPath: [any CodingKey] { scan.path(to: object) }

    var allKeys: [Key] {
        if scan.convertsKeys, let index { return index.values.keys.compactMap { Key(stringValue: $0) } }
        var keys: [Key] = []
        keys.reserveCapacity(scan.nodes[object].count)
        scan.forEachMember(of: object) { name, _ in
            if let key = Key(stringValue: name) { keys.append(key) }
        }
        return keys
    }

    @inline(__always)
    private func find(_ key: some CodingKey) -> Int? {
        if let index { return index.values[key.stringValue] }
        return scan.member(key.stringValue, in: object)
    }

    @inline(__always)
    private func value(_ key: some CodingKey) throws -> Int {
        guard let index = find(key) else { throw scan.keyNotFound(key, in: object) }
        return index
    }

    /// Returns the index of the key's value; nil if the key is missing or its value is null.
    @inline(__always)
    private func present(_ key: Key) -> Int? {
        guard let index = find(key), scan.kind(index) != .null else { return nil }
        return index
    }

    func contains(_ key: Key) -> Bool { find(key) != nil }
    func decodeNil(forKey key: Key) throws -> Bool { scan.kind(try value(key)) == .null }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try scan.value(type, at: value(key)) }
    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        guard let index = present(key) else { return nil }
        return try scan.value(type, at: index)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try JSONNodeDecoder(scan, value(key)).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try JSONNodeDecoder(scan, value(key)).unkeyedContainer()
    }

    func superDecoder() -> any Swift.Decoder { decoder(JSONKey.super) }
    func superDecoder(forKey key: Key) -> any Swift.Decoder { decoder(key) }

    private func decoder(_ key: some CodingKey) -> any Swift.Decoder {
        find(key).map { JSONNodeDecoder(scan, $0) } ?? scan.missing(at: codingPath + [key])
    }
}

// Each type has its own function, so that a compiler can call it without generics.
extension JSONKeyedContainer {
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try scan.bool(at: value(key)) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try scan.string(at: value(key)) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try scan.double(at: value(key)) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try scan.float(at: value(key)) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try scan.integer(type, at: value(key)) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try scan.integer(type, at: value(key)) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try scan.integer(type, at: value(key)) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try scan.integer(type, at: value(key)) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try scan.integer(type, at: value(key)) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try scan.integer(type, at: value(key)) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try scan.integer(type, at: value(key)) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try scan.integer(type, at: value(key)) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try scan.integer(type, at: value(key)) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try scan.integer(type, at: value(key)) }
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try scan.integer(type, at: value(key)) }
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try scan.integer(type, at: value(key)) }

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        try present(key).map { try scan.bool(at: $0) }
    }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        try present(key).map { try scan.string(at: $0) }
    }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        try present(key).map { try scan.double(at: $0) }
    }
    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
        try present(key).map { try scan.float(at: $0) }
    }

    private func ifPresent<Integer: FixedWidthInteger>(_ key: Key) throws -> Integer? {
        try present(key).map { try scan.integer(Integer.self, at: $0) }
    }

    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try ifPresent(key) }
    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try ifPresent(key) }
    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try ifPresent(key) }
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try ifPresent(key) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try ifPresent(key) }
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try ifPresent(key) }
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try ifPresent(key) }
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try ifPresent(key) }
    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try ifPresent(key) }
    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try ifPresent(key) }
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? { try ifPresent(key) }
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? { try ifPresent(key) }
}
