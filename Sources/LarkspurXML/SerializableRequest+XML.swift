import Larkspur

extension SerializableRequest {
    /// Returns a handle to await the body as XML.
    public func serializingXML(automaticallyCancelling: Bool = true) -> DataTask<XML> {
        serializingResponse(using: .xml, automaticallyCancelling: automaticallyCancelling)
    }

    /// Calls the closure with the body as XML.
    @discardableResult
    public func responseXML(completion: @escaping @Sendable (DataResponse<XML>) async -> Void) -> Self {
        response(using: .xml, completion: completion)
    }
}
