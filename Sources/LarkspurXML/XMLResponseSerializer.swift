import Larkspur

/// A serializer that returns the body as XML. An empty body fails with `.emptyBody`.
public struct XMLResponseSerializer: ResponseSerializer {
    /// Creates a serializer; `.xml` is equivalent.
    public init() {}

    public func serialize(_ exchange: CompletedExchange) throws -> XML {
        guard let data = exchange.data, !data.isEmpty else {
            throw RequestError(.emptyBody, "the response's body is empty, but the serializer needs an XML document")
        }
        do {
            return try XML(data: data, charset: exchange.head?.charset)
        } catch {
            throw RequestError(.invalidXML, "the body is not XML: \(error)", underlying: error)
        }
    }
}

extension ResponseSerializer where Self == XMLResponseSerializer {
    /// A serializer that returns the body as XML.
    public static var xml: Self { XMLResponseSerializer() }
}
