/// The decoder of one value, which is also its own single-value container.
struct JSONNodeDecoder: Swift.Decoder, SingleValueDecodingContainer {
    private let scan: JSONScan
    private let index: Int
    /// Whether the value is decoded as a dictionary, whose keys are not converted.
    private let isDictionary: Bool

    init(_ scan: JSONScan, _ index: Int, isDictionary: Bool = false) {
        (self.scan, self.index, self.isDictionary) = (scan, index, isDictionary)
    }

    var codingPath: [any CodingKey] { scan.path(to: index) }
    var userInfo: [CodingUserInfoKey: Any] { scan.options.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard scan.kind(index) == .object else { throw scan.mismatch([String: Any].self, index) }
        guard let maker = scan.state.pointee.makers.maker(type) else {
            return KeyedDecodingContainer(JSONKeyedContainer(scan, index, isDictionary: isDictionary))
        }
        return maker.container(scan, index, isDictionary: isDictionary)
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard scan.kind(index) == .array else { throw scan.mismatch([Any].self, index) }
        return JSONUnkeyedContainer(scan, index)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool { scan.kind(index) == .null }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try scan.value(type, at: index) }
}

// Each type has its own function, so that a compiler can call it without generics.
extension JSONNodeDecoder {
    func decode(_ type: Bool.Type) throws -> Bool { try scan.bool(at: index) }
    func decode(_ type: String.Type) throws -> String { try scan.string(at: index) }
    func decode(_ type: Double.Type) throws -> Double { try scan.double(at: index) }
    func decode(_ type: Float.Type) throws -> Float { try scan.float(at: index) }
    func decode(_ type: Int.Type) throws -> Int { try scan.integer(type, at: index) }
    func decode(_ type: Int8.Type) throws -> Int8 { try scan.integer(type, at: index) }
    func decode(_ type: Int16.Type) throws -> Int16 { try scan.integer(type, at: index) }
    func decode(_ type: Int32.Type) throws -> Int32 { try scan.integer(type, at: index) }
    func decode(_ type: Int64.Type) throws -> Int64 { try scan.integer(type, at: index) }
    func decode(_ type: UInt.Type) throws -> UInt { try scan.integer(type, at: index) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try scan.integer(type, at: index) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try scan.integer(type, at: index) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try scan.integer(type, at: index) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try scan.integer(type, at: index) }
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    func decode(_ type: Int128.Type) throws -> Int128 { try scan.integer(type, at: index) }
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    func decode(_ type: UInt128.Type) throws -> UInt128 { try scan.integer(type, at: index) }
}
