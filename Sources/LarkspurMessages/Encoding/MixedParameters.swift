/// Parameters whose values have different types, written as a dictionary literal.
///
///     let request = await session.request(url, method: .post, parameters: ["name": name, "age": age], encoder: .json)
///
/// Each value is encoded as its own type, with the encoder's strategies for dates and data. A nil value is written as
/// the encoder writes nil. A nested dictionary whose values have different types must name the type: `["user": ["id":
/// id, "name": name] as MixedParameters]`. A literal outside of the argument `parameters:` must name the type, too.
///
/// If all values have the same type, requests also accept the literal as a plain dictionary. If all values are
/// literals, a ``JSON`` value can contain them, nested in any way: `["a": [1, "x"]] as JSON`.
public struct MixedParameters: Encodable, Sendable, ExpressibleByDictionaryLiteral {
    private let members: [(key: String, value: any Encodable & Sendable)]

    public init(dictionaryLiteral elements: (String, (any Encodable & Sendable)?)...) {
        self.init(elements)
    }

    package init(_ elements: [(String, (any Encodable & Sendable)?)]) {
        members = elements.map { ($0.0, $0.1 ?? JSON.null) }
    }

    /// Encodes the members as a dictionary. In a form, the members have the order of the literal.
    public func encode(to encoder: any Encoder) throws {
        guard encoder is FormNode else {
            var container = encoder.singleValueContainer()
            // The members are encoded as a dictionary, because an encoder's strategy for keys does not change the keys
            // of dictionaries.
            return try container.encode(
                Dictionary(members.map { ($0.key, Member(content: $0.value)) }, uniquingKeysWith: { _, last in last }))
        }
        var container = encoder.container(keyedBy: FormKey.self)
        for (key, value) in members { try container.encode(value, forKey: FormKey(stringValue: key)) }
    }

    private struct Member: Encodable {
        let content: any Encodable & Sendable

        func encode(to encoder: any Encoder) throws {
            // The container encodes the value. If the value encoded itself, the encoder's strategies for dates and data
            // would not apply.
            var container = encoder.singleValueContainer()
            try container.encode(content)
        }
    }
}
