extension JSON.Decoder: DataDecoder {}

extension JSON {
    /// Returns this value decoded as another type, for example `try reply["user"].decode(User.self)`.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, using decoder: any DataDecoder = JSON.Decoder()
    ) throws -> Value {
        try decoder.decode(type, from: data())
    }
}
