#if canImport(Darwin)
    import LarkspurURLSession

    /// Performs transfers with a background session of the system, which continues without the app.
    ///
    /// While the app runs, each transfer is a request of a session whose transport is a ``SystemTransferTransport``. So
    /// adapters, validators and retriers work as for other requests. A task from an earlier run of the app is adopted
    /// by the first hop of its transfer, without calling adapters.
    final class SystemTransfers: NSObject, BackgroundEngine {
        struct Ending: Sendable {
            let head: ResponseHead?
            let body: Data
            let error: TransportError?

            init(head: ResponseHead?, body: Data, error: TransportError?) {
                (self.head, self.body, self.error) = (head, body, error)
            }

            /// Creates the end of a task without a response.
            init(_ error: TransportError) { self.init(head: nil, body: Data(), error: error) }

            var isSuccess: Bool { head.map { (200..<300).contains($0.status) } ?? false }
        }

        struct State {
            var session: URLSession?
            /// The error of every hop after the system has ended the session.
            var failure: TransportError?
            var tasks: [UUID: URLSessionTask] = [:]
            var hops: [UUID: SystemHop] = [:]
            var feeds: [UUID: ProgressFeed] = [:]
            /// The ends of tasks that no hop has adopted yet.
            var endings: [UUID: Ending] = [:]
            var bodies: [UUID: Data] = [:]
            /// The errors of moving a downloaded file.
            var moveErrors: [UUID: RequestError] = [:]
            /// The identifiers of tasks that the app has cancelled.
            var cancelled: Set<Int> = []
            var gate = BackgroundEventGate()
            var isClosed = false

            /// Returns the task for a cancellation.
            mutating func takeTask(of id: UUID) -> URLSessionTask? {
                let task = tasks.removeValue(forKey: id)
                if let task { cancelled.insert(task.taskIdentifier) }
                return task
            }
        }

        // Immutable
        let identifier: String
        let folder: BackgroundFolder
        var isSystem: Bool { true }

        // Mutable state, guarded by the lock of `Protected`
        let box = Protected(State())

        init(_ identifier: String, _ options: BackgroundTransfers.Options, _ folder: BackgroundFolder) {
            self.identifier = identifier
            self.folder = folder
            super.init()
            let configuration = URLSessionConfiguration.background(withIdentifier: identifier)
            configuration.isDiscretionary = options.isDiscretionary
            configuration.sessionSendsLaunchEvents = options.sendsLaunchEvents
            configuration.allowsCellularAccess = options.allowsCellularAccess
            configuration.sharedContainerIdentifier = options.sharedContainerIdentifier
            // The pipeline adds cookies and credentials itself.
            configuration.httpCookieStorage = nil
            configuration.httpShouldSetCookies = false
            configuration.urlCredentialStorage = nil
            configuration.urlCache = nil
            let queue = OperationQueue()
            queue.maxConcurrentOperationCount = 1
            let session = URLSession(configuration: configuration, delegate: self, delegateQueue: queue)
            box.withLock { $0.session = session }
        }

        func prepare(_ known: Set<UUID>) async {
            guard let session = box.withLock({ $0.session }) else { return }
            for task in await session.allTasks {
                guard let id = Self.id(of: task), known.contains(id) else {
                    task.cancel()  // its record was removed
                    continue
                }
                box.withLock { state in
                    if state.endings[id] == nil { state.tasks[id] = task }
                }
            }
        }

        static func id(of task: URLSessionTask) -> UUID? { task.taskDescription.flatMap(UUID.init(uuidString:)) }

        func arrival(of record: BackgroundRecord, in folder: BackgroundFolder) -> URL {
            URL(fileURLWithPath: folder.path(.body, of: record.id))
        }

        // MARK: Running

        func download(_ job: BackgroundJob) async throws(RequestError) -> ResponseHead {
            let response = await perform(job)
            if let error = box.withLock({ $0.moveErrors.removeValue(forKey: job.id) }) { throw error }
            let head = try response.successfulHead
            try await check(job)
            return head
        }

        func upload(_ job: BackgroundJob) async throws(RequestError) -> (ResponseHead, Data) {
            let response = await perform(job)
            return (try response.successfulHead, response.value ?? Data())
        }

        private func perform(_ job: BackgroundJob) async -> DataResponse<Data> {
            box.withLock { $0.feeds[job.id] = job.feed }
            var configuration = job.session.configuration
            configuration.cookieJar = job.session.cookieJar
            configuration.interceptors = configuration.interceptors.map { adopting($0, job.id) }
            let session = Session(
                configuration: configuration, transport: SystemTransferTransport(engine: self, transfer: job.id))
            let core = await session.makeCore(RequestSource(.convertible(job.request)), job.retrier, false)
            let request = UploadRequest(core: core).validate(using: BackgroundJob.accepted)
            let task = request.serializingData(automaticallyCancelling: false)
            job.setStop { request.cancel() }
            request.resume()
            let response = await task.response
            _ = box.withLock { $0.feeds.removeValue(forKey: job.id) }
            return response
        }

        /// Returns the interceptor without its adapter while the system has a task of an earlier run: the task has its
        /// own header fields, and an adapter that fails must not end it.
        private func adopting(_ interceptor: any RequestInterceptor, _ id: UUID) -> any RequestInterceptor {
            Interceptor(
                adapt: { [weak self] request, state in
                    if state.attempt == 1, self?.hasTask(id) == true { return }
                    try await interceptor.adapt(&request, using: state)
                }, retry: { await interceptor.retry($0, for: $1, dueTo: $2) })
        }

        private func hasTask(_ id: UUID) -> Bool {
            box.withLock { $0.tasks[id] != nil || $0.endings[id] != nil }
        }

        func check(_ job: BackgroundJob) async throws(RequestError) {
            guard let (algorithm, expected) = job.options.checksum else { return }
            let file = job.arrival
            let computed = try await job.files.run { _ throws(RequestError) in
                var hash = StreamingHash(algorithm)
                var pieces = try FilePieces(of: file)
                while let piece = try pieces.next() { piece.withUnsafeBytes { hash.update($0) } }
                return hash.finalize().hexadecimal
            }
            guard computed == expected else {
                throw RequestError(.checksumMismatch, "the file's checksum is \(computed), expected \(expected)")
            }
        }

        // MARK: Hops

        /// Starts a hop: with the end or the task of an earlier run, or with a new task.
        func begin(_ hop: SystemHop) {
            let (ending, session) = box.withLock { state -> (Ending?, URLSession?) in
                if let ending = state.endings.removeValue(forKey: hop.transfer) { return (ending, nil) }
                if let failure = state.failure { return (Ending(failure), nil) }
                state.hops[hop.transfer] = hop
                return (nil, state.tasks[hop.transfer] == nil ? state.session : nil)
            }
            if let ending { return hop.end(ending) }
            guard let session else { return settle(hop.transfer) }
            guard let task = Self.task(for: hop.request, resuming: folder.resumption(of: hop.transfer), in: session)
            else {
                box.withLock { $0.hops[hop.transfer] = nil }
                return hop.end(Ending(TransportError(.other, "URLSession cannot send a request to this URL")))
            }
            task.taskDescription = hop.transfer.uuidString
            let isWanted = box.withLock { state in
                guard state.hops[hop.transfer] === hop else {
                    state.cancelled.insert(task.taskIdentifier)  // the hop was cancelled meanwhile
                    return false
                }
                state.tasks[hop.transfer] = task
                return true
            }
            isWanted ? task.resume() : task.cancel()
            settle(hop.transfer)
        }

        /// Fails the hops in flight and all later ones, because the system has ended the session.
        func didFail(_ error: (any Error)?) {
            let failure = TransportError(.unavailable, "the system has ended the background session", underlying: error)
            let hops = box.withLock { state in
                (state.session, state.failure, state.tasks) = (nil, failure, [:])
                defer { state.hops = [:] }
                return Array(state.hops.values)
            }
            for hop in hops { hop.end(Ending(failure)) }
        }

        private static func task(
            for request: TransportRequest, resuming data: Data?, in session: URLSession
        ) -> URLSessionTask? {
            if case .none = request.body, let data { return session.downloadTask(withResumeData: data) }
            guard let outgoing = URLRequest(request) else { return nil }
            if case .file(let path, _, _) = request.body {
                return session.uploadTask(with: outgoing, fromFile: URL(fileURLWithPath: path))
            }
            return session.downloadTask(with: outgoing)
        }

        /// Cancels the task of a hop. A download's bytes are kept, so that a paused transfer can resume.
        func cancel(_ hop: SystemHop) {
            let id = hop.transfer
            let task = box.withLock { state -> URLSessionTask? in
                guard state.hops[id] === hop else { return nil }
                state.hops[id] = nil
                return state.isClosed ? nil : state.takeTask(of: id)
            }
            guard let download = task as? URLSessionDownloadTask else {
                task?.cancel()
                return hop.end(Ending(.cancelled))
            }
            download.cancel(byProducingResumeData: { [folder] data in
                folder.keep(resumption: data, of: id)
                hop.end(Ending(.cancelled))
            })
        }

        func didSettle(_ id: UUID) { settle(id) }

        private func settle(_ id: UUID) {
            if box.withLock({ $0.gate.didSettle(id) }) { callHandlers() }
        }

        /// Calls the completion handlers of the app delegate, on the main actor.
        func callHandlers() {
            let identifier = identifier
            Task { @MainActor in
                for handler in BackgroundEventHandlers.shared.take(of: identifier) { handler() }
            }
        }

        func forget(_ id: UUID) {
            let task = box.withLock { state in
                state.endings[id] = nil
                state.bodies[id] = nil
                state.moveErrors[id] = nil
                return state.takeTask(of: id)
            }
            task?.cancel()
            settle(id)
        }

        func close() { box.withLock { $0.isClosed = true } }
    }

    /// Performs the hops of one transfer with the system's background session.
    final class SystemTransferTransport: Transport {
        private let engine: SystemTransfers
        private let transfer: UUID

        init(engine: SystemTransfers, transfer: UUID) { (self.engine, self.transfer) = (engine, transfer) }

        func task(
            for request: TransportRequest, id: TransportTaskID, delegate: any TransportDelegate
        ) -> any TransportTask {
            SystemHop(id, request, delegate, engine, transfer)
        }

        func invalidate() {}
    }

    /// One task of the system. Its head and its body are delivered at its end, because a download's bytes go to a file.
    final class SystemHop: TransportTask {
        private struct State {
            var isStarted = false
            /// Set to nil by the thread that delivers the end, so that the end is delivered once.
            var delegate: (any TransportDelegate)?
        }

        // Immutable
        let id: TransportTaskID
        let request: TransportRequest
        let transfer: UUID
        private let engine: SystemTransfers

        // Mutable state, guarded by the lock of `Protected`
        private let box: Protected<State>

        init(
            _ id: TransportTaskID, _ request: TransportRequest, _ delegate: any TransportDelegate,
            _ engine: SystemTransfers, _ transfer: UUID
        ) {
            (self.id, self.request, self.engine, self.transfer) = (id, request, engine, transfer)
            box = Protected(State(delegate: delegate))
        }

        func resume() {
            let isFirst = box.withLock { $0.delegate != nil && $0.isStarted.setOnce() }
            if isFirst { engine.begin(self) } else { engine.setSuspended(false, self) }
        }

        func suspend() { engine.setSuspended(true, self) }
        func allow(upTo position: UInt64) {}

        func cancel() {
            let isStarted = box.withLock { $0.isStarted }
            if isStarted { return engine.cancel(self) }
            end(SystemTransfers.Ending(.cancelled))
        }

        func end(_ ending: SystemTransfers.Ending) {
            let (delegate, isStarted) = box.withLock { ($0.delegate.take(), $0.isStarted) }
            guard let delegate else { return }
            if let head = ending.head { delegate.received(.head(head), for: id) }
            if !ending.body.isEmpty { delegate.received(.body(ending.body), for: id) }
            if isStarted { delegate.received(.metrics(TransportMetrics()), for: id) }
            delegate.received(.completed(ending.error), for: id)
        }
    }
#endif
