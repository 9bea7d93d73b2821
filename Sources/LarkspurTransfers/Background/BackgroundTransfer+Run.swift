/// The task that drives a transfer: it fetches or sends the file, moves it to its destination, and writes the outcome.
extension BackgroundTransfer {
    /// Starts the transfer unless it has ended or is paused.
    func start() {
        guard box.withLock({ $0.isRunning }) else { return feedEnd() }
        // Unstructured, one task per transfer: a transfer continues even if no task awaits it.
        Task { await drive() }
    }

    private func feedEnd() {
        switch state {
        case .running, .paused: break
        case .succeeded, .failed, .cancelled, .closed: feed.end()
        }
    }

    func act(on effect: BackgroundTransferState.Effect) {
        effect.stop?()
        for idler in effect.idlers { idler.resume() }
        for waiter in effect.waiters { waiter.resume(returning: .closed) }
        if effect.starts { start() }
    }

    /// Asks for a change, and returns when no task drives the transfer.
    func settle(_ wish: BackgroundTransferState.Wish) async {
        act(on: box.withLock { $0.ask(wish) })
        await suspended { (continuation: Continuation<Void>) in
            let waits = box.withLock { state in
                if state.isRunning { state.idlers.append(continuation) }
                return state.isRunning
            }
            if !waits { continuation.resume() }
        }
        feedEnd()
    }

    func removeRecord() async {
        await hub.remove(self)
    }

    // MARK: The task

    private func drive() async {
        await hub.prepared()
        while true {
            let end = await run()
            switch box.withLock({ $0.end(end) }) {
            case .runAgain: continue
            case .savePause:
                try? await update { $0.isPaused = true }
                if box.withLock({ $0.didPause() }) { return resumeIdlers() }
            case .saveOutcome(let outcome):
                // If the disk is full, the outcome is delivered nevertheless, and the next run of the program repeats
                // the last steps.
                try? await update { $0.phase = .finished(outcome.stored) }
                if case .failure = outcome { await hub.removeArrival(of: box.withLock { $0.record }) }
                hub.engine.didSettle(id)
                return finish(.finished(outcome))
            case .discard:
                await hub.discard(self)
                return finish(.cancelled)
            case .close: return finish(.closed)
            }
        }
    }

    private func finish(_ phase: BackgroundTransferState.Phase) {
        let waiters = box.withLock { $0.finish(phase) }
        feed.end()
        for waiter in waiters { waiter.resume(returning: phase) }
        resumeIdlers()
    }

    private func resumeIdlers() {
        for idler in box.withLock({ $0.takeIdlers() }) { idler.resume() }
    }

    /// Changes the record in memory and on disk.
    private func update(_ change: (inout BackgroundRecord) -> Void) async throws(RequestError) {
        let record = box.withLock { state in
            change(&state.record)
            return state.record
        }
        try await hub.files.run { folder throws(RequestError) in try folder.write(record) }
    }

    private func run() async -> BackgroundTransferState.End {
        guard let record = box.withLock({ $0.beginRun() }) else { return .skipped }
        let (slots, id) = (hub.slots, id)
        slots.enter(id)
        if !box.withLock({ $0.setStop { slots.withdraw(id) } }) { slots.withdraw(id) }
        guard await slots.wait(id) else { return .failed(.requestCancelled) }
        defer { slots.leave(id) }
        do throws(RequestError) {
            if record.isPaused { try await update { $0.isPaused = false } }
            let request = if let original { original } else { try record.request }
            switch record.kind {
            case .download(let rules): return .done(try await fetch(request, by: rules))
            case .upload(let upload): return .done(try await send(upload, request))
            }
        } catch {
            return .failed(error)
        }
    }

    private func job(_ request: OutgoingRequest, _ record: BackgroundRecord) -> BackgroundJob {
        BackgroundJob(
            id: id, request: request, options: record.downloadOptions,
            arrival: hub.engine.arrival(of: record, in: hub.files.folder), session: hub.session,
            retrier: hub.options.retry, files: hub.files, feed: feed
        ) { [box] stop in
            if !box.withLock({ $0.setStop(stop) }) { stop() }
        }
    }

    // MARK: Downloads

    private func fetch(
        _ request: OutgoingRequest, by rules: BackgroundRecord.Download
    ) async throws(RequestError) -> Response {
        let record = box.withLock { $0.record }
        let job = job(request, record)
        let (id, arrival) = (id, job.arrival)
        while true {
            let head: ResponseHead
            if case .placing(let stored) = box.withLock({ $0.record.phase }) {
                head = stored.head
            } else {
                let arrived = try await hub.files.run { folder throws(RequestError) in
                    folder.arrival(of: id, at: arrival.path)
                }
                if arrived != nil { try await hub.engine.check(job) }
                if let arrived { head = arrived } else { head = try await hub.engine.download(job) }
                // From here on the file counts as complete. Its place follows from the head, so it is written first.
                try await update { $0.phase = .placing(BackgroundRecord.Head(head)) }
            }
            let target = rules.target(of: head, from: try record.request.url)
            let isPlaced = try await hub.files.run { folder throws(RequestError) in
                try folder.place(arrival.path, at: target, by: rules)
            }
            if isPlaced { return Response(head: head, fileURL: target, data: nil) }
            // Another program has removed the file.
            try await update { $0.phase = .transferring }
        }
    }

    // MARK: Uploads

    private func send(
        _ upload: BackgroundRecord.Upload, _ request: OutgoingRequest
    ) async throws(RequestError) -> Response {
        let file = try await hub.files.run { _ throws(RequestError) in try ResumableFile(upload.file.url, of: upload) }
        if let method = upload.resumable { return try await send(upload, request, file, using: method) }
        var request = request
        request.body = .file(path: file.path, length: file.length, version: file.version)
        let (head, data) = try await hub.engine.upload(job(request, box.withLock { $0.record }))
        return Response(head: head, fileURL: nil, data: data)
    }

    private func send(
        _ plan: BackgroundRecord.Upload, _ request: OutgoingRequest, _ file: ResumableFile,
        using method: ResumableUploadProtocol
    ) async throws(RequestError) -> Response {
        let retry = hub.options.retry
        let upload = await hub.session.resumableUpload(
            file.url, to: request.url, using: method, metadata: plan.metadata, headers: request.headers,
            resuming: plan.created, retryLimit: retry?.limit ?? 0)
        upload.resume()
        if !box.withLock({ $0.setStop { upload.cancel() } }) { upload.cancel() }
        var known = plan.created?.uploadURL
        for await progress in upload.progress {
            feed.advance(to: progress.completed, of: progress.total)
            // The URL of the upload is needed to resume. If the process is killed before it is written, the next run
            // creates another upload. The URL changes if the server has lost the upload.
            guard let record = upload.record, record.uploadURL != known else { continue }
            known = record.uploadURL
            try? await update { $0.keep(record) }
        }
        do {
            let response = try await upload.value
            return Response(head: try response.successfulHead, fileURL: nil, data: response.value ?? Data())
        } catch let error as RequestError {
            throw error
        } catch {
            throw .requestCancelled
        }
    }
}

extension BackgroundRecord {
    fileprivate mutating func keep(_ created: ResumableUploadRecord) {
        guard case .upload(var upload) = kind else { return }
        upload.created = created
        kind = .upload(upload)
    }
}

extension ResumableFile {
    /// Throws `.fileChanged` if the file has changed since the upload began.
    fileprivate init(_ url: URL, of upload: BackgroundRecord.Upload) throws(RequestError) {
        try self.init(url, expecting: nil)
        guard length == upload.length, version.modification == upload.modification else {
            throw RequestError(
                .fileChanged, "the file \(path) differs from the file that the upload began with; start another upload")
        }
    }
}
