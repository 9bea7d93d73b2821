/// A parser that splits a stream into messages by a framing, and decodes each message as a value.
public struct DecodingParser<Value: Decodable & Sendable, Framing: MessageFraming>: StreamParser {
    private var framing: Framing
    private let decoder: any DataDecoder

    /// Creates a parser with a framing and a decoder.
    public init(framing: Framing, decoder: any DataDecoder = JSON.Decoder()) {
        self.framing = framing
        self.decoder = decoder
    }

    public mutating func next(in bytes: inout UnsafeRawBufferPointer) throws -> Value? {
        try framing.next(in: &bytes).map(decoded)
    }

    public mutating func end() throws -> Value? { try framing.end().map(decoded) }

    private func decoded(_ message: Data) throws -> Value {
        do {
            return try decoder.decode(Value.self, from: message)
        } catch {
            throw RequestError(
                .decodingFailed,
                "the message cannot be decoded as \(Value.self): \(DecodingProblem.description(of: error))",
                underlying: error)
        }
    }
}
