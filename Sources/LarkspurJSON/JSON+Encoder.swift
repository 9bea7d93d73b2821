extension JSON {
    /// An encoder of `Encodable` values that does what `JSONEncoder` does, in less time.
    ///
    /// The output has the same bytes as that of `JSONEncoder` with `.sortedKeys`. Without this option, `JSONEncoder`
    /// writes members in any order, and this encoder in the order in which the value encodes them.
    ///
    /// In an extension of ``JSON``, the name `Encoder` means this type: write `any Swift.Encoder` there.
    public struct Encoder: Sendable {
        /// The format of the text; compact by default, with escaped slashes as in `JSONEncoder`.
        public var outputFormatting: JSONEncoder.OutputFormatting = []
        /// How dates are encoded; `.deferredToDate` by default, as in `JSONEncoder`.
        public var dateEncodingStrategy = JSONEncoder.DateEncodingStrategy.deferredToDate
        /// How data is encoded; `.base64` by default.
        public var dataEncodingStrategy = JSONEncoder.DataEncodingStrategy.base64
        /// How infinities and NaN are encoded; `.throw` by default.
        public var nonConformingFloatEncodingStrategy = JSONEncoder.NonConformingFloatEncodingStrategy.throw
        /// How coding keys are converted; `.useDefaultKeys` by default.
        public var keyEncodingStrategy = JSONEncoder.KeyEncodingStrategy.useDefaultKeys
        /// Values that a type's `encode(to:)` can read.
        public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

        /// Creates an encoder with default options, and lets the closure change them.
        public init(_ configure: (inout Encoder) -> Void = { _ in }) { configure(&self) }

        /// Creates an encoder with the options of a `JSONEncoder`.
        public init(_ encoder: JSONEncoder) {
            outputFormatting = encoder.outputFormatting
            dateEncodingStrategy = encoder.dateEncodingStrategy
            dataEncodingStrategy = encoder.dataEncodingStrategy
            nonConformingFloatEncodingStrategy = encoder.nonConformingFloatEncodingStrategy
            keyEncodingStrategy = encoder.keyEncodingStrategy
            userInfo = encoder.userInfo
        }

        /// Returns the value as JSON text in UTF-8.
        ///
        /// - Throws: An `EncodingError`, or an error that the value's `encode(to:)` throws.
        public func encode<Value: Encodable>(_ value: Value) throws -> Data {
            let output = JSONOutput(JSONEncoding(self))
            guard try output.write(value) else {
                throw EncodingError.invalidValue(
                    value, .init(codingPath: [], debugDescription: "the \(Value.self) did not encode any value"))
            }
            return try output.data()
        }
    }
}

/// The options of one encoding. A class, so that each output copies one reference.
final class JSONEncoding {
    let options: JSON.Encoder
    let style: JSONTextStyle
    let convertsKeys: Bool

    init(_ options: JSON.Encoder) {
        self.options = options
        style = JSONTextStyle(
            isPretty: options.outputFormatting.contains(.prettyPrinted),
            isSorted: options.outputFormatting.contains(.sortedKeys),
            escapesSlashes: !options.outputFormatting.contains(.withoutEscapingSlashes),
            isFoundation: true, maximumDepth: JSONOutput.maximumDepth)
        if case .useDefaultKeys = options.keyEncodingStrategy { convertsKeys = false } else { convertsKeys = true }
    }

    /// Returns the name of a key that the encoder converts.
    func converted(_ key: some CodingKey, path: @autoclosure () -> [any CodingKey]) -> String {
        switch options.keyEncodingStrategy {
        case .useDefaultKeys: key.stringValue
        case .convertToSnakeCase: JSONSnakeCase.snakeCase(key.stringValue)
        case .custom(let convert): convert(path() + [key]).stringValue
        @unknown default: key.stringValue
        }
    }
}
