extension JSON {
    /// A decoder of `Decodable` values that does what `JSONDecoder` does, several times as fast.
    ///
    /// It has all options of `JSONDecoder` except `allowsJSON5` and `assumesTopLevelDictionary`: the input is always
    /// one JSON text by RFC 8259. The values are the same, and so are the kinds of errors and their coding paths. Error
    /// descriptions contain the line and the column. The guide <doc:DecodingJSON> lists the differences.
    ///
    /// ```swift
    /// let decoder = JSON.Decoder {
    ///     $0.keyDecodingStrategy = .convertFromSnakeCase
    ///     $0.dateDecodingStrategy = .iso8601
    /// }
    /// let user = try decoder.decode(User.self, from: data)
    /// ```
    ///
    /// In an extension of ``JSON``, the name `Decoder` means this type: write `any Swift.Decoder` there.
    public struct Decoder: Sendable {
        /// How dates are decoded; `.deferredToDate` by default, as in `JSONDecoder`.
        public var dateDecodingStrategy = JSONDecoder.DateDecodingStrategy.deferredToDate
        /// How data is decoded; `.base64` by default.
        public var dataDecodingStrategy = JSONDecoder.DataDecodingStrategy.base64
        /// How infinities and NaN are decoded; `.throw` by default.
        public var nonConformingFloatDecodingStrategy = JSONDecoder.NonConformingFloatDecodingStrategy.throw
        /// How keys are converted before they are compared with coding keys; `.useDefaultKeys` by default.
        public var keyDecodingStrategy = JSONDecoder.KeyDecodingStrategy.useDefaultKeys
        /// Values that a type's `init(from:)` can read.
        public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

        /// Creates a decoder with default options, and lets the closure change them.
        public init(_ configure: (inout Decoder) -> Void = { _ in }) { configure(&self) }

        /// Creates a decoder with the options of a `JSONDecoder`. `allowsJSON5` and `assumesTopLevelDictionary` have
        /// no effect.
        public init(_ decoder: JSONDecoder) {
            dateDecodingStrategy = decoder.dateDecodingStrategy
            dataDecodingStrategy = decoder.dataDecodingStrategy
            nonConformingFloatDecodingStrategy = decoder.nonConformingFloatDecodingStrategy
            keyDecodingStrategy = decoder.keyDecodingStrategy
            userInfo = decoder.userInfo
        }

        /// Returns a value of the type, decoded from one JSON text in UTF-8.
        ///
        /// - Throws: A `DecodingError`, or an error that the type's `init(from:)` throws. If the data is not JSON, the
        ///   error is `DecodingError.dataCorrupted` with a ``JSONError`` as its underlying error.
        public func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
            try decode(from: data) { try $0.value(type, at: 0) }
        }

        /// Returns a value of the type, decoded with a configuration.
        public func decode<Value: DecodableWithConfiguration>(
            _ type: Value.Type, from data: Data, configuration: Value.DecodingConfiguration
        ) throws -> Value {
            try decode(from: data) { try type.init(from: JSONNodeDecoder($0, 0), configuration: configuration) }
        }

        private func decode<Value>(from data: Data, _ body: (JSONScan) throws -> Value) throws -> Value {
            try data.withUnsafeBytes { bytes in
                let text = bytes.bindMemory(to: UInt8.self)
                let (tape, capacity): (JSONTape, Int)
                do {
                    (tape, capacity) = try JSONTapeBuilder.tape(of: text)
                } catch {
                    throw DecodingError.dataCorrupted(
                        .init(
                            codingPath: [], debugDescription: "it is not valid JSON, \(error)", underlyingError: error)
                    )
                }
                return try decode(JSONScan(self, tape, capacity: capacity, textCount: text.count), body)
            }
        }

        func decode<Value>(_ scan: consuming JSONScan, _ body: (JSONScan) throws -> Value) throws -> Value {
            var scan = scan
            // A type may keep its decoder for later. Then the text must outlive this call.
            defer { if !isKnownUniquelyReferenced(&scan) { scan.copyText() } }
            return try body(scan)
        }
    }
}

/// A key of a coding path.
struct JSONKey: CodingKey {
    private let name: String?
    let intValue: Int?

    init(stringValue: String) { (name, intValue) = (stringValue, nil) }
    init(intValue: Int) { (name, self.intValue) = (nil, intValue) }
    static let `super` = JSONKey(stringValue: "super")

    // Created only when it is asked for: an index has one for each element.
    var stringValue: String { name ?? "Index \(intValue ?? 0)" }
}
