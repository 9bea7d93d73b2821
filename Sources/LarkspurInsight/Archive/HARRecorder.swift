import Larkspur
internal import LarkspurAnnex

/// A recorder that writes the requests of sessions to a file in the HTTP Archive format (HAR 1.2), which the developer
/// tools of browsers open.
///
///     let har = HARRecorder(to: file)
///     let session = Session(eventMonitors: [har])
///     …
///     try await har.finish()
///
/// Each hop is an entry: a redirect and each attempt have entries of their own. The fields `_request`, `_attempt` and
/// `_hop` link them. Further fields of ours are `_cache` (the outcome of the session's cache), `_error`, `_trailers`
/// and, as in Chrome's archives, `_webSocketMessages`. ``HARArchive`` reads the file.
///
/// An entry is written when its hop has ended. From then on the file is valid JSON with this entry, also after a crash
/// of the process. The file is accessible by its owner only. An existing file is replaced; a symbolic link is refused.
///
/// URLs, fields and bodies are redacted as in logs. The recorder misses no request: requests wait if the disk is slow
/// (`EventMonitor.delaysRequests`). An error of the disk ends the recording, and does not disturb requests.
public final class HARRecorder: EventMonitor {
    public let delaysRequests = true
    public let bodyLimit: Int
    /// The largest limit for which the limit of decoded bytes, four times as many, is still a number.
    static let largestLimit = Int.max / 4
    private let format: HARFormat
    private let file: HARFile
    private let collector: HARCollector
    private let dropped = Guarded(0)

    /// Creates a recorder, and the file. If the file cannot be created, ``finish()`` throws the error.
    ///
    /// - Parameters:
    ///   - bodyLimit: The maximum number of bytes of each body as sent on the wire; 64 KiB by default. A longer body is
    ///     cut. Of a compressed body, at most four times as many decoded bytes are recorded. With 0, bodies are left
    ///     out.
    ///   - redaction: The rules for secrets.
    public init(to file: URL, bodyLimit: Int = 64 << 10, redacting redaction: Redaction = .standard) {
        self.bodyLimit = min(max(0, bodyLimit), Self.largestLimit)
        format = HARFormat(redaction: redaction, bodyLimit: self.bodyLimit, memory: HARFieldMemory())
        self.file = HARFile(file)
        collector = HARCollector(bodyLimit: self.bodyLimit)
    }

    /// The number of events that were dropped because the disk was too slow: parts of bodies, events of WebSockets, and
    /// `suspend`, `resume` and `ignoreOption`. Entries are never dropped.
    public var droppedEvents: Int { dropped.withLock { $0 } }

    /// Ends the recording: waits for the entries of all requests that have finished, writes an entry with an `_error`
    /// for each hop in flight, and closes the file. Later requests are not recorded.
    ///
    /// - Throws: `RequestError` if the file could not be created or written. The file then has the entries up to the
    ///   error.
    public func finish() async throws(RequestError) {
        await receiveAllEvents()
        await collector.waitForFinishedRequests()
        let open = collector.close()
        // The entry of a hop that has just ended may still be on its way to the file.
        await receiveAllEvents()
        let reason = "the recording has ended before the hop"
        try await file.close(adding: open.map { $0.record(endingWith: reason, format) })
    }

    public func didDrop(_ events: Int) { dropped.withLock { $0 += events } }

    public func request(_ request: any Request, did event: RequestEvent) {
        let ended = collector.receive(event, of: request)
        if case .endHop(let error) = event, let record = ended?.record(endingWith: error?.description, format) {
            file.append(record)
        }
    }
}
