/// Parameters whose values have different types, written as a dictionary literal of variables.
///
///     let request = await session.request(url, method: .post, parameters: ["name": name, "age": age], encoder: .json)
///
/// Each value is encoded as its own type, by the encoder's strategies for dates and data. An optional that is nil is written
/// as the encoder writes nil. A dictionary of different types inside another one names its type:
/// `["user": ["id": id, "name": name] as MixedParameters]`, and so does one that is not an argument for `parameters:`.
///
/// Where a literal has values of one type, or is written without variables, requests take a dictionary or ``JSON`` for it.
public struct MixedParameters: Encodable, Sendable, ExpressibleByDictionaryLiteral {
    private let members: [(key: String, value: any Encodable & Sendable)]

    public init(dictionaryLiteral elements: (String, any Encodable & Sendable)...) {
        members = elements.map { ($0.0, $0.1) }
    }

    /// Encodes a dictionary; a form has the members in the order of the literal.
    public func encode(to encoder: any Encoder) throws {
        guard encoder is FormNode else {
            var container = encoder.singleValueContainer()
            // A dictionary: encoders with a strategy for keys leave those of dictionaries as they are.
            return try container.encode(
                Dictionary(members.map { ($0.key, Member(content: $0.value)) }, uniquingKeysWith: { _, last in last }))
        }
        var container = encoder.container(keyedBy: FormKey.self)
        for (key, value) in members { try container.encode(value, forKey: FormKey(stringValue: key)) }
    }

    private struct Member: Encodable {
        let content: any Encodable & Sendable

        func encode(to encoder: any Encoder) throws {
            // By the container: an encoder's strategies for dates and data are part of it.
            var container = encoder.singleValueContainer()
            try container.encode(content)
        }
    }
}

extension RequestContent {
    /// Values of different types as JSON: `.json(["name": name, "age": age])`.
    @_disfavoredOverload
    public static func json(_ parameters: MixedParameters) -> RequestContent { .encoded(parameters, by: .json) }

    /// Values of different types as `application/x-www-form-urlencoded`: `.form(["name": name, "age": age])`.
    @_disfavoredOverload
    public static func form(_ parameters: MixedParameters) -> RequestContent {
        .encoded(parameters, by: .urlEncodedForm(destination: .httpBody))
    }
}
