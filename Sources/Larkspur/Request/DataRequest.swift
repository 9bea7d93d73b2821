/// A request whose response body is kept in memory for its serializers.
public final class DataRequest: SerializableRequest {
    public let handle: RequestHandle

    package init(core: RequestCore) {
        handle = RequestHandle(core: core)
        core.adopt(self)
    }
}

/// A request that is made for its body: a data request in all else.
public final class UploadRequest: SerializableRequest {
    public let handle: RequestHandle

    package init(core: RequestCore) {
        handle = RequestHandle(core: core)
        core.adopt(self)
    }
}
