/// The draft of a response that several readers may follow.
///
/// The response is dropped when the exchange and the owner's request have both released the draft, unless it was
/// committed. The draft holds neither of them: a request that never decides about its draft must not keep itself alive.
final class SharedDraft: CacheDraft {
    private let writer: any CacheWriter
    private let received: StoredHead
    private let requestFields: [HTTPHeader]
    private let isShared: Bool

    init(_ writer: any CacheWriter, _ received: StoredHead, _ owner: CachingTask) {
        (self.writer, self.received) = (writer, received)
        (requestFields, isShared) = (owner.request.fields, owner.cache.options.isShared)
    }

    deinit { writer.drop() }

    func commit(head: ResponseHead?, body: Data?) {
        guard head != nil || body != nil else { return writer.commit(head: nil, body: nil) }
        let changed = received.changed(
            to: head, bodyLength: body?.count, in: requestFields, isShared: isShared)
        // With these directives a changed head says that the response is not to be stored.
        if changed.control.noStore || changed.selection.variesWithEverything { return }
        writer.commit(head: changed, body: body)
    }

    /// Does nothing: other readers may still need the bytes.
    func drop() {}
}

extension TransportQuestion {
    var isAnswered: Bool {
        switch self {
        case .serverTrust(_, let reply): reply.value != nil
        case .clientIdentity(_, let reply): reply.value != nil
        case .bodyFromStart(_, let reply): reply.value != nil
        }
    }

    var isRefused: Bool {
        if case .serverTrust(_, let reply) = self, case .refused? = reply.value { return true }
        return !isAnswered
    }
}
