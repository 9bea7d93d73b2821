import Larkspur
import LarkspurInsight

/// A transport that answers requests from a recording: an HTTP archive (HAR) of `HARRecorder`, of a browser, or of
/// the cassette itself.
///
///     let cassette = try Cassette(har: file)
///     let session = Session(transport: cassette)
///
/// Each hop is answered by an entry of the archive with the same method and URL. An entry answers one request. By
/// default, a request without an entry fails with `.notRecorded`, and the error's text names the nearest entries.
///
/// A cassette that records passes unknown requests on to another transport, and writes them to the archive:
///
///     let cassette = try Cassette(har: file, unknown: .record(from: CurlTransport()))
///     …
///     try await cassette.finish()
public final class Cassette: TransportWrapper {
    /// The order in which entries answer.
    public enum Order: Sendable, Hashable {
        /// A request is answered by the first entry that matches and has not been played.
        case any
        /// Each request must match the next entry of the archive.
        case recorded
    }

    /// How long responses take.
    public enum Timing: Sendable, Hashable {
        /// Responses arrive at once.
        case immediate
        /// Heads and bodies arrive as late as in the recording.
        case recorded
        /// Times are those of the recording, multiplied by the factor.
        case scaled(by: Double)

        var factor: Double {
            switch self {
            case .immediate: 0
            case .recorded: 1
            case .scaled(let factor): factor.isFinite ? max(0, factor) : 0
            }
        }
    }

    /// How a request without an entry is answered.
    public enum Unknown: Sendable {
        /// The request fails with `.notRecorded`.
        case fail
        /// The request is sent by another transport.
        case passOn(to: any Transport)
        /// The request is sent by another transport, and ``Cassette/finish()`` adds it to the archive.
        case record(from: any Transport)

        var transport: (any Transport)? {
            switch self {
            case .fail: nil
            case .passOn(let transport), .record(let transport): transport
            }
        }
    }

    let matching: Matching
    let redaction: Redaction
    let unknown: Unknown
    let stub: StubTransport
    private let timing: Timing
    private let deck: Protected<CassetteDeck>
    private let recording: CassetteRecording?
    /// The tasks that read bodies; nil after the cassette was invalidated.
    private let readers = Protected<[ObjectIdentifier: CassetteTask]?>([:])

    /// Loads the archive in a file. With the choice `.record`, a missing file is an empty archive.
    ///
    /// - Parameters:
    ///   - matching: The parts of requests that are compared; by default the method and the URL.
    ///   - order: The order in which entries answer.
    ///   - repeats: Whether an entry answers again when all matching entries have been played.
    ///   - timing: How long responses take.
    ///   - unknown: How a request without an entry is answered.
    ///   - redaction: The rules for secrets in the file. Requests are also compared without their secrets.
    ///   - clock: The clock of ``Timing``.
    /// - Throws: `RequestError` with the code `.invalidFileURL`, `.fileUnreadable`, `.fileNotRegular` or
    ///   `.invalidArchive`.
    public convenience init(
        har file: URL, matching: Matching = Matching(), order: Order = .any, repeats: Bool = false,
        timing: Timing = .immediate, unknown: Unknown = .fail, redacting redaction: Redaction = .standard,
        clock: any Clock<Duration> = ContinuousClock()
    ) throws(RequestError) {
        let mayBeMissing = if case .record = unknown { true } else { false }
        let isMissing = mayBeMissing && !FileManager.default.fileExists(atPath: file.path)
        let archive = isMissing ? HARArchive() : try HARArchive(contentsOf: file)
        self.init(
            archive, file: file, matching: matching, order: order, repeats: repeats, timing: timing, unknown: unknown,
            redacting: redaction, clock: clock)
    }

    /// Creates a cassette with the entries of an archive. With the choice `.record`, ``archive`` has the new entries.
    public convenience init(
        _ archive: HARArchive, matching: Matching = Matching(), order: Order = .any, repeats: Bool = false,
        timing: Timing = .immediate, unknown: Unknown = .fail, redacting redaction: Redaction = .standard,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.init(
            archive, file: nil, matching: matching, order: order, repeats: repeats, timing: timing, unknown: unknown,
            redacting: redaction, clock: clock)
    }

    /// Creates a cassette that records all requests. ``finish()`` replaces the file.
    ///
    /// - Parameters:
    ///   - transport: The transport that sends the requests.
    ///   - bodyLimit: The maximum number of bytes of each body. A longer body is cut, and cannot be played.
    ///   - redaction: The rules for secrets, which are not written to the file.
    public convenience init(
        recordingTo file: URL, from transport: any Transport, bodyLimit: Int = 16 << 20,
        redacting redaction: Redaction = .standard
    ) {
        self.init(
            HARArchive(), file: file, unknown: .record(from: transport), redacting: redaction, bodyLimit: bodyLimit,
            replacesFile: true)
    }

    private init(
        _ archive: HARArchive, file: URL?, matching: Matching = Matching(), order: Order = .any, repeats: Bool = false,
        timing: Timing = .immediate, unknown: Unknown, redacting redaction: Redaction, bodyLimit: Int = 16 << 20,
        replacesFile: Bool = false, clock: any Clock<Duration> = ContinuousClock()
    ) {
        (self.matching, self.redaction, self.timing, self.unknown) = (matching, redaction, timing, unknown)
        deck = Protected(CassetteDeck(archive, matching, redaction, order: order, repeats: repeats))
        stub = StubTransport(clock: clock) { _ in StubAnswer([]) }
        if case .record(let transport) = unknown {
            recording = CassetteRecording(
                transport, file: file, replacesFile: replacesFile, bodyLimit: bodyLimit, redaction: redaction)
        } else {
            recording = nil
        }
    }

    /// The entries that no request has asked for yet.
    ///
    ///     #expect(cassette.unplayed.isEmpty)
    public var unplayed: [HARArchive.Entry] { deck.withLock { $0.unplayed } }

    /// The number of requests that entries have answered.
    public var playCount: Int { deck.withLock { $0.playCount } }

    /// The entries of the archive, followed by those that were recorded.
    public var archive: HARArchive {
        HARArchive(entries: deck.withLock { $0.entries } + (recording?.entries ?? []))
    }

    /// Writes the archive with the recorded entries to the cassette's file. Does nothing if the cassette has no file or
    /// does not record. A file whose entries have answered all requests is not changed.
    ///
    /// Recorded entries are kept in memory until then. Hops that are still in flight are left out.
    ///
    /// - Throws: `RequestError` with the code `.fileUnwritable`.
    public func finish() async throws(RequestError) {
        guard let recording, let file = recording.file else { return }
        // Another program's archive has members that would be lost, and a fixture would differ after each run.
        if !recording.replacesFile, recording.isEmpty, FileManager.default.fileExists(atPath: file.path) { return }
        try archive.write(to: file)
    }

    // MARK: The transport

    /// The transport to which unknown requests are passed on; otherwise a stub, which is never asked. The cassette has
    /// its capabilities and its partition.
    public var base: any Transport { unknown.transport ?? stub }

    /// Returns nil: a replay needs no connection.
    public func warmingTask(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> (any TransportTask)? { nil }

    public func task(
        for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
    ) -> any TransportTask {
        CassetteTask(id, request, self, delegate)
    }

    public func invalidate() {
        let tasks = readers.withLock { $0.take() } ?? [:]
        for task in tasks.values { task.invalidate() }
        stub.invalidate()
        unknown.transport?.invalidate()
    }

    /// Adds a task that reads its body, or removes it. Returns false if the cassette was invalidated.
    @discardableResult
    func setReading(_ isReading: Bool, _ task: CassetteTask) -> Bool {
        readers.withLock { readers in
            readers?[ObjectIdentifier(task)] = isReading ? task : nil
            return readers != nil
        }
    }

    /// Chooses the entry for a request, and counts it as played.
    func choose(_ request: CassetteRequest) -> CassetteDeck.Choice {
        while true {
            let seen = deck.withLock { $0 }
            let choice = seen.choice(for: request)
            guard case .play(let number, _) = choice else { return choice }
            if deck.withLock({ $0.take(number, again: seen.hasPlayed(number)) }) { return choice }
        }
    }

    /// Returns the task that answers a request: from the entry, from the other transport, or with an error.
    func task(
        for choice: CassetteDeck.Choice, _ request: TransportRequest, id: TransportTaskID,
        delegate: any TransportDelegate
    ) -> any TransportTask {
        switch choice {
        case .play(let number, let entry):
            let answer = CassetteAnswer(entry, number: number, matching, redaction, timing: timing.factor)
            return stub.task(for: request, id: id, delegate: delegate) { answer.steps(answering: $0) }
        case .readBody, .unknown:
            if let recording { return recording.task(for: request, id: id, delegate: delegate) }
            if let transport = unknown.transport { return transport.task(for: request, id: id, delegate: delegate) }
            let error = TransportError(.notRecorded, choice.reason)
            return stub.task(for: request, id: id, delegate: delegate) { _ in StubAnswer([.fail(error)]) }
        }
    }
}

extension TransportError.Code {
    /// The recording that answers in place of a network has no usable entry for the request.
    public static let notRecorded = Self(rawValue: "notRecorded")
}

extension RequestError.Code {
    /// The recording that answers in place of a network has no usable entry for the request. See ``Cassette``.
    public static let notRecorded = Self(rawValue: "notRecorded")
}
