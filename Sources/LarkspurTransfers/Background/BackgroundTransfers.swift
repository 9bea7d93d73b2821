/// Downloads to files and uploads from files that survive the program.
///
///     let transfers = try BackgroundTransfers(identifier: "com.example.films")
///     let film = try await transfers.download(url, to: .file(place), tag: "film 7")
///     for await restored in transfers.restored { print(restored.tag ?? "", restored.state) }
///
/// On Apple's platforms the system performs the transfers, also while the app is suspended or has ended. On Linux they
/// run while the program runs, and continue in its next run, also after it was killed. In both cases a later object
/// with the same identifier restores them. See <doc:TransfersInBackground>.
///
/// Transfers run as requests of a session: its interceptors add tokens and decide about retries, while the app runs.
/// Only responses with a status from 200 to 299 are accepted.
public final class BackgroundTransfers: Sendable {
    /// The identifier of the transfers.
    public let identifier: String
    /// The transfers that earlier runs of the program have left, each once: those that are in flight again, those that
    /// are paused, and those that have ended before their result was delivered.
    ///
    /// Unfinished transfers continue even if no task iterates this sequence. The sequence ends after the last of them.
    /// If several tasks iterate it, each transfer goes to one of them.
    public let restored: AsyncStream<BackgroundTransfer>
    /// An error for each record that could not be restored, because it is damaged or of a later version.
    ///
    /// The file of a damaged record is kept with the extension `damaged`.
    public let problems: [RequestError]

    private let hub: BackgroundHub

    /// Opens the transfers of an identifier, and continues those of earlier runs.
    ///
    /// Throws `.invalidIdentifier`, `.identifierInUse` if another object or process uses the identifier or the folder,
    /// `.unsupportedInBackground` for a configuration that cannot work, or an error about the folder. The identifier is
    /// in use until ``close()`` is called, or until this object and its transfers are released. On Apple's platforms it
    /// is in use until the process ends.
    ///
    /// - Parameters:
    ///   - identifier: A name that is the same in each run, such as `com.example.films`.
    ///   - configuration: The settings of the session that makes the requests, with its interceptors.
    ///   - interceptor: An interceptor, called after those of the configuration.
    ///   - options: The retries, and the conditions under which the system transfers.
    ///   - folder: The folder of the records. Nil, the default, is `larkspur/IDENTIFIER` in `$XDG_STATE_HOME` (by
    ///     default `~/.local/state`), and in Application Support on Apple's platforms.
    ///   - transport: A transport that performs the transfers while the program runs.
    public convenience init(
        identifier: String, configuration: SessionConfiguration = SessionConfiguration(),
        interceptor: (any RequestInterceptor)? = nil, options: Options = Options(), folder: URL? = nil,
        transport: any Transport
    ) throws(RequestError) {
        try self.init(
            identifier: identifier, configuration: configuration, interceptor: interceptor, options: options,
            folder: folder, transport: transport, isSystem: false)
    }

    /// Opens the transfers of an identifier.
    ///
    /// - Parameter isSystem: Whether the system performs the transfers; false where it cannot.
    package init(
        identifier: String, configuration: SessionConfiguration, interceptor: (any RequestInterceptor)?,
        options: Options, folder: URL?, transport: any Transport, isSystem: Bool
    ) throws(RequestError) {
        try BackgroundRules.check(identifier: identifier)
        let isSystem = isSystem && Self.systemHasTransfers
        try BackgroundRules.check(configuration, isSystem: isSystem)
        let environment = ProcessInfo.processInfo.environment
        let place = if let folder { folder } else { try BackgroundFolder.standard(identifier, in: environment) }
        let folder = try BackgroundFolder(creating: place)
        let claim = try BackgroundClaim(identifier, folder)
        let (records, problems) = try folder.read()
        var configuration = configuration
        // With a budget, a lost network would make many transfers fail at once. Their delays protect the servers.
        configuration.retryBudget = nil
        let session = Session(configuration: configuration, transport: transport, interceptor: interceptor)
        let engine = isSystem ? Self.systemEngine(identifier, options, folder) : SessionEngine()
        let hub = BackgroundHub(session, engine, options, folder, claim, known: Set(records.map(\.id)))
        self.identifier = identifier
        self.hub = hub
        self.problems = problems
        let transfers = records.map { hub.restore($0) }
        restored = AsyncStream { continuation in
            for transfer in transfers { continuation.yield(transfer) }
            continuation.finish()
        }
    }

    #if canImport(Darwin)
        private static let systemHasTransfers = true

        private static func systemEngine(
            _ identifier: String, _ options: Options, _ folder: BackgroundFolder
        ) -> any BackgroundEngine {
            SystemTransfers(identifier, options, folder)
        }
    #else
        private static let systemHasTransfers = false

        private static func systemEngine(
            _ identifier: String, _ options: Options, _ folder: BackgroundFolder
        ) -> any BackgroundEngine {
            SessionEngine()
        }
    #endif

    /// Downloads to a file. The transfer starts at once, and is on disk when the function returns.
    ///
    /// Fields with credentials, such as `Authorization` and `Cookie`, are used in this run of the program, but are not
    /// written to disk. Add them with an interceptor, which is also called when a later run continues the transfer.
    ///
    /// Throws `.fileExists` or `.fileInUse` if the destination is taken, `.unsupportedInBackground` for a request with
    /// a body and for `.custom` destinations, and the errors of building the request.
    ///
    /// - Parameters:
    ///   - target: A URL in any form, or a complete request without a body.
    ///   - method: The method. Nil, the default, is GET for a URL, and the own method of a complete request.
    ///   - headers: The header fields. They replace fields of a complete request with the same names.
    ///   - destination: The place of the file: `.file` or `.suggested(in:)`.
    ///   - options: What happens to an earlier file and to missing folders, and the expected checksum.
    ///   - tag: A name by which later runs recognise the transfer.
    @discardableResult
    public func download(
        _ target: any RequestTarget, method: HTTPMethod? = nil, headers: HTTPHeaders = [:],
        to destination: Destination, options: [DownloadOption] = [], tag: String? = nil
    ) async throws(RequestError) -> BackgroundTransfer {
        let request = try hub.build(RequestSource(target, method, headers, modifier: nil, content: nil))
        try BackgroundRules.check(download: request)
        let rules = try BackgroundRecord.Download(destination, options)
        return try await hub.add(BackgroundRecord(request, kind: .download(rules), tag: tag), request)
    }

    /// Uploads a file. The transfer starts at once, and is on disk when the function returns.
    ///
    /// If the process ends before the response arrives, the next run sends the file again from its first byte, so the
    /// server may receive it twice. With a resumable protocol only the missing bytes are sent. If the file changes
    /// before it was sent, the transfer fails with `.fileChanged` or `.bodyFailed`.
    ///
    /// Fields with credentials are not written to disk; see ``download(_:method:headers:to:options:tag:)``. Throws
    /// `.fileMissing` and the other errors of files, `.unsupportedInBackground` for a resumable protocol on Apple's
    /// platforms, and the errors of building the request.
    ///
    /// - Parameters:
    ///   - file: The file to send. It must stay unchanged until the transfer has ended.
    ///   - target: A URL in any form, or a complete request, whose body is replaced.
    ///   - method: The method. Nil, the default, is POST for a URL, and the own method of a complete request.
    ///   - headers: The header fields. They replace fields of a complete request with the same names.
    ///   - resumable: The protocol of a server for resumable uploads; nil, the default, sends the file in one request.
    ///   - metadata: The metadata of the file, for tus only.
    ///   - tag: A name by which later runs recognise the transfer.
    @discardableResult
    public func upload(
        file: URL, to target: any RequestTarget, method: HTTPMethod? = nil, headers: HTTPHeaders = [:],
        resumable: ResumableUploadProtocol? = nil, metadata: [String: String] = [:], tag: String? = nil
    ) async throws(RequestError) -> BackgroundTransfer {
        if resumable != nil, hub.engine.isSystem {
            throw BackgroundRules.unsupported(
                "the system cannot perform resumable uploads; upload without a protocol, or with a session")
        }
        return try await add(.file(file), target, method, headers, resumable, metadata, tag)
    }

    /// Uploads a file that is given as content: the `URL` of a file, or a ``TransportBody`` of a file.
    ///
    /// Throws `.unsupportedInBackground` for every other content. Otherwise like
    /// ``upload(file:to:method:headers:resumable:metadata:tag:)``.
    @discardableResult
    public func upload(
        _ content: any RequestContentConvertible, to target: any RequestTarget, method: HTTPMethod? = nil,
        headers: HTTPHeaders = [:], tag: String? = nil
    ) async throws(RequestError) -> BackgroundTransfer {
        try await add(content.asRequestContent(), target, method, headers, nil, [:], tag)
    }

    /// Uploads a file that is given as `.file(url)`.
    ///
    /// Throws `.unsupportedInBackground` for every other content. Otherwise like
    /// ``upload(file:to:method:headers:resumable:metadata:tag:)``.
    @discardableResult
    public func upload(
        _ content: RequestContent, to target: any RequestTarget, method: HTTPMethod? = nil,
        headers: HTTPHeaders = [:], tag: String? = nil
    ) async throws(RequestError) -> BackgroundTransfer {
        try await add(content, target, method, headers, nil, [:], tag)
    }

    private func add(
        _ content: RequestContent, _ target: any RequestTarget, _ method: HTTPMethod?, _ headers: HTTPHeaders,
        _ resumable: ResumableUploadProtocol?, _ metadata: [String: String], _ tag: String?
    ) async throws(RequestError) -> BackgroundTransfer {
        let request = try hub.build(
            RequestSource(target, method, headers, default: .post, modifier: nil, content: content))
        let file = try BackgroundRules.file(of: request)
        let upload = BackgroundRecord.Upload(
            file: try StoredPath(file.url), length: file.length, modification: file.version.modification,
            resumable: resumable, metadata: metadata, created: nil)
        return try await hub.add(BackgroundRecord(request, kind: .upload(upload), tag: tag), request)
    }

    /// The transfers in flight, and those that the program still holds, in no particular order.
    public var all: [BackgroundTransfer] { hub.transfers }

    /// Ends the transfers in this run of the program without losing them: the next object with the identifier continues
    /// them. Tasks that await them get `.sessionInvalidated`.
    ///
    /// On Apple's platforms the system continues the transfers, and the identifier stays in use until the process ends.
    public func close() async { await hub.close() }
}

extension BackgroundTransfers {
    /// The retries of transfers, and the conditions under which the system transfers.
    public struct Options: Sendable {
        /// The retries of each transfer while the program runs, after the retriers of the configuration; nil for none.
        ///
        /// By default a transfer is retried until it succeeds after network failures, and up to ten times after
        /// temporary errors of the server. The delays grow up to a minute. Uploads are retried with every method. The
        /// session's retry budget does not apply.
        public var retry: RetryPolicy? = Options.patient
        /// The maximum number of transfers in flight, including those that wait for a retry; 64 by default. Further
        /// transfers wait in their order. It has no effect on the system's transfers.
        public var maximumConcurrentTransfers = 64
        /// Whether the system may wait for power and Wi-Fi; false by default. Apple's platforms only.
        public var isDiscretionary = false
        /// Whether the system starts the app when all transfers have ended; true by default. Apple's platforms only.
        public var sendsLaunchEvents = true
        /// Whether transfers may use cellular connections; true by default. Apple's platforms only.
        public var allowsCellularAccess = true
        /// The identifier of the container that an app extension shares with its app; nil by default. Apple's platforms
        /// only.
        public var sharedContainerIdentifier: String?

        /// Creates the default options and passes them to the closure for changes.
        public init(_ configure: (inout Options) -> Void = { _ in }) { configure(&self) }

        private static let patient = RetryPolicy(
            limit: .max, methods: RetryPolicy.idempotentMethods.union([.post, .patch]),
            backoff: RetryPolicy.Backoff(scale: .seconds(1), cap: .seconds(60)), maximumRetryAfter: .seconds(3_600),
            shouldRetry: { error, request in
                guard error.isValidation else { return .byRules }
                return request.attempts.count { $0.error?.isValidation == true } >= 10 ? .doNotRetry : .byRules
            })
    }
}

extension BackgroundTransfers: CustomStringConvertible, CustomReflectable {
    /// The identifier.
    public var description: String { "BackgroundTransfers(\(identifier.debugDescription))" }
    /// A mirror without the session.
    public var customMirror: Mirror { Mirror(self, children: ["identifier": identifier]) }
}
