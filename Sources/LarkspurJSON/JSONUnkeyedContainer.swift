/// The elements of an array, as a type's `init(from:)` reads them.
///
/// It is at most as large as three pointers. So an existential of it needs no allocation.
struct JSONUnkeyedContainer: UnkeyedDecodingContainer {
    private let scan: JSONScan
    private let array: UInt32
    private var element: UInt32
    private var position: UInt32 = 0

    init(_ scan: JSONScan, _ array: Int) {
        self.scan = scan
        self.array = UInt32(truncatingIfNeeded: array)
        element = self.array + 1
    }

    var codingPath: [any CodingKey] { scan.path(to: Int(array)) }
    var count: Int? { scan.nodes[Int(array)].count }
    var isAtEnd: Bool { Int(element) >= scan.nodes[Int(array)].end }
    var currentIndex: Int { Int(position) }

    /// Decodes the next element. If that fails, the element stays the next one.
    @inline(__always)
    private mutating func next<T>(_ type: Any.Type, _ decode: (JSONScan, Int) throws -> T) throws -> T {
        guard !isAtEnd else { throw scan.atEnd(type, of: Int(array), Int(position)) }
        let value = try decode(scan, Int(element))
        advance()
        return value
    }

    @inline(__always)
    private mutating func advance() {
        element = UInt32(truncatingIfNeeded: scan.tape.index(after: Int(element)))
        position += 1
    }

    mutating func decodeNil() throws -> Bool {
        guard !isAtEnd else { throw scan.atEnd(Never.self, of: Int(array), Int(position)) }
        guard scan.kind(Int(element)) == .null else { return false }
        advance()
        return true
    }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try next(type) { try $0.value(type, at: $1) } }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try next(KeyedDecodingContainer<NestedKey>.self) { try JSONNodeDecoder($0, $1).container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try next((any UnkeyedDecodingContainer).self) { try JSONNodeDecoder($0, $1).unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Swift.Decoder {
        try next((any Swift.Decoder).self) { JSONNodeDecoder($0, $1) }
    }
}

// Each type has its own function, so that a compiler can call it without generics.
extension JSONUnkeyedContainer {
    mutating func decode(_ type: Bool.Type) throws -> Bool { try next(type) { try $0.bool(at: $1) } }
    mutating func decode(_ type: String.Type) throws -> String { try next(type) { try $0.string(at: $1) } }
    mutating func decode(_ type: Double.Type) throws -> Double { try next(type) { try $0.double(at: $1) } }
    mutating func decode(_ type: Float.Type) throws -> Float { try next(type) { try $0.float(at: $1) } }
    mutating func decode(_ type: Int.Type) throws -> Int { try next(type) { try $0.integer(type, at: $1) } }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try next(type) { try $0.integer(type, at: $1) } }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try next(type) { try $0.integer(type, at: $1) } }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try next(type) { try $0.integer(type, at: $1) } }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try next(type) { try $0.integer(type, at: $1) } }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try next(type) { try $0.integer(type, at: $1) } }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try next(type) { try $0.integer(type, at: $1) } }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try next(type) { try $0.integer(type, at: $1) } }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try next(type) { try $0.integer(type, at: $1) } }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try next(type) { try $0.integer(type, at: $1) } }
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    mutating func decode(_ type: Int128.Type) throws -> Int128 { try next(type) { try $0.integer(type, at: $1) } }
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try next(type) { try $0.integer(type, at: $1) } }
}
