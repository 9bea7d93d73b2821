/// The parts that the transfers of one identifier share.
final class BackgroundHub: Sendable {
    // Immutable
    let session: Session
    let engine: any BackgroundEngine
    let options: BackgroundTransfers.Options
    let files: BackgroundFiles
    let slots: BackgroundSlots
    private let claim: BackgroundClaim
    /// Builds requests without the session's header fields, which each run adds again.
    private let bare: Session
    private let preparation: Task<Void, Never>

    // Mutable state, guarded by the lock of `Protected`
    private let box = Protected(State())

    private struct Entry {
        weak var transfer: BackgroundTransfer?
        /// The destination that no other transfer may have meanwhile.
        let place: BackgroundRecord.Download.Place?
    }

    private struct State {
        var entries: [UUID: Entry] = [:]
        var isClosed = false
    }

    init(
        _ session: Session, _ engine: any BackgroundEngine, _ options: BackgroundTransfers.Options,
        _ folder: BackgroundFolder, _ claim: BackgroundClaim, known: Set<UUID>
    ) {
        self.session = session
        self.engine = engine
        self.options = options
        self.claim = claim
        files = BackgroundFiles(folder)
        // The system has its own limits.
        slots = BackgroundSlots(engine.isSystem ? .max : options.maximumConcurrentTransfers)
        bare = session.extending { $0.headers = HTTPHeaders() }
        // Unstructured: the initializer cannot wait for the system.
        preparation = Task { await engine.prepare(known) }
    }

    func prepared() async { await preparation.value }

    // MARK: Transfers

    /// Builds the request without its session's header fields, to check and to store it.
    func build(_ source: RequestSource) throws(RequestError) -> OutgoingRequest {
        var request = try source.build(in: bare.context)
        request.moveUserInfoToHeader()
        return request
    }

    /// Adds a transfer that the caller has just created, writes its record and starts it.
    func add(_ record: BackgroundRecord, _ request: OutgoingRequest) async throws(RequestError) -> BackgroundTransfer {
        let transfer = BackgroundTransfer(record, original: request, hub: self)
        try register(transfer, record)
        do throws(RequestError) {
            try await files.run { folder throws(RequestError) in
                if let download = record.download, case .file(let path) = download.place {
                    try DestinationRules.check(path.path, replacing: download.replaces)
                }
                try folder.write(record)
            }
        } catch {
            forget(record.id)
            throw error
        }
        transfer.start()
        return transfer
    }

    /// Returns the transfer of a record of an earlier run, and starts it.
    func restore(_ record: BackgroundRecord) -> BackgroundTransfer {
        let transfer = BackgroundTransfer(record, original: nil, hub: self)
        box.withLock { $0.entries[record.id] = Entry(transfer: transfer, place: record.unfinishedPlace) }
        transfer.start()
        return transfer
    }

    private func register(_ transfer: BackgroundTransfer, _ record: BackgroundRecord) throws(RequestError) {
        try box.withLock { state throws(RequestError) in
            if state.isClosed { throw RequestError(.sessionInvalidated, "the background transfers were closed") }
            if case .file(let path) = record.download?.place {
                for entry in state.entries.values where entry.place == .file(path) {
                    guard let other = entry.transfer, other.isUnfinished else { continue }
                    throw RequestError(
                        .fileInUse,
                        "another background transfer downloads to the file \(path.path); use another destination")
                }
            }
            state.entries[record.id] = Entry(transfer: transfer, place: record.unfinishedPlace)
        }
    }

    private func forget(_ id: UUID) { _ = box.withLock { $0.entries.removeValue(forKey: id) } }

    /// The transfers that the program holds or that are in flight.
    var transfers: [BackgroundTransfer] { box.withLock { $0.entries.values.compactMap(\.transfer) } }

    // MARK: Removing

    /// Removes the record of a transfer that has ended.
    func remove(_ transfer: BackgroundTransfer) async {
        let id = transfer.id
        try? await files.run { folder throws(RequestError) in folder.remove(id) }
        await engine.forget(id)
        forget(id)
    }

    /// Removes a cancelled transfer and its bytes.
    func discard(_ transfer: BackgroundTransfer) async {
        await removeArrival(of: transfer.box.withLock { $0.record })
        await remove(transfer)
    }

    func removeArrival(of record: BackgroundRecord) async {
        guard record.download != nil else { return }
        let arrival = engine.arrival(of: record, in: files.folder)
        try? await files.run { folder throws(RequestError) in folder.removeArrival(at: arrival) }
    }

    func close() async {
        box.withLock { $0.isClosed = true }
        engine.close()
        for transfer in transfers { await transfer.settle(.close) }
        // The system's session would mix its events with those of another session with the same identifier.
        if !engine.isSystem { claim.release() }
    }
}

extension BackgroundRecord {
    fileprivate var unfinishedPlace: Download.Place? {
        if case .finished = phase { nil } else { download?.place }
    }
}

extension BackgroundTransfer {
    fileprivate var isUnfinished: Bool { [.running, .paused].contains(state) }
}
