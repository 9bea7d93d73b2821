/// A request whose response body is kept in memory for its serializers.
///
///     let user = try await session.request(url).validate().serializingDecodable(User.self).value
///
/// ``RequestOptions/maximumBodySize`` limits the body. For larger bodies use ``DownloadRequest`` or
/// ``DataStreamRequest``.
public final class DataRequest: SerializableRequest {
    @_documentation(visibility: internal)
    public let handle: RequestHandle

    package init(core: RequestCore) {
        handle = RequestHandle(core: core)
        core.adopt(self)
    }
}

/// A request that uploads a body: bytes, a file, a stream or a form. Its response is handled like that of a
/// ``DataRequest``.
public final class UploadRequest: SerializableRequest {
    @_documentation(visibility: internal)
    public let handle: RequestHandle

    package init(core: RequestCore) {
        handle = RequestHandle(core: core)
        core.adopt(self)
    }
}
