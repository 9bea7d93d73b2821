#if canImport(Darwin)
    import LarkspurURLSession

    /// The system's callbacks. They come on the session's serial queue.
    extension SystemTransfers: URLSessionDownloadDelegate, URLSessionDataDelegate {
        // MARK: Downloads

        /// Keeps the file. The system removes it when this function returns.
        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
        ) {
            guard let id = Self.id(of: downloadTask), let head = Self.head(of: downloadTask),
                (200..<300).contains(head.status)
            else { return }
            do throws(RequestError) {
                try folder.keep(location, of: id, head)
                box.withLock { _ = $0.moveErrors.removeValue(forKey: id) }
            } catch {
                box.withLock { $0.moveErrors[id] = error }
            }
        }

        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
            totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
        ) {
            advance(downloadTask, to: totalBytesWritten, of: totalBytesExpectedToWrite)
        }

        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
            expectedTotalBytes: Int64
        ) {
            advance(downloadTask, to: fileOffset, of: expectedTotalBytes)
        }

        private func advance(_ task: URLSessionTask, to completed: Int64, of total: Int64) {
            guard let id = Self.id(of: task), let feed = box.withLock({ $0.feeds[id] }) else { return }
            feed.advance(to: UInt64(clamping: completed), of: total > 0 ? UInt64(total) : nil)
        }

        // MARK: Uploads

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
            totalBytesExpectedToSend: Int64
        ) {
            advance(task, to: totalBytesSent, of: totalBytesExpectedToSend)
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask,
            needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
        ) {
            completionHandler(nil)  // bodies are files
        }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
            completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
        ) {
            completionHandler(.allow)
        }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            guard let id = Self.id(of: dataTask) else { return }
            box.withLock { $0.bodies[id, default: Data()].append(data) }
        }

        // MARK: All tasks

        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            completionHandler(request)  // a background session follows redirects without asking
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            completionHandler(.performDefaultHandling, nil)
        }

        func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {}

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
        ) {}

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
        ) {
            guard let id = Self.id(of: task) else { return }
            // The system stores the bytes of a failed download in a form that only it can read.
            let resumption = error.flatMap { ($0 as NSError).userInfo[NSURLSessionDownloadTaskResumeData] as? Data }
            let isKnown = folder.hasRecord(of: id)
            let ending = Ending(
                head: error == nil ? Self.head(of: task) : nil,
                body: box.withLock { $0.bodies.removeValue(forKey: id) } ?? Data(),
                // A task that the app has not cancelled was cancelled by the system or the user, for example when the
                // user ended the app. The error of such a task is worth a retry.
                error: error.map { TransportError($0, hasHead: false) })
            let (hop, isCurrent, replaced) = box.withLock { state -> (SystemHop?, Bool, URLSessionTask?) in
                // The hop of a task that the app has cancelled has ended already.
                if state.cancelled.remove(task.taskIdentifier) != nil || !isKnown { return (nil, false, nil) }
                let current = state.tasks[id]
                let isReplaced = current != nil && current?.taskIdentifier != task.taskIdentifier
                // The system reported the end of an earlier run's task after another task was made. A success counts.
                if isReplaced, !ending.isSuccess { return (nil, false, nil) }
                state.tasks[id] = nil
                if isReplaced, let current { state.cancelled.insert(current.taskIdentifier) }
                state.gate.didEnd(id)
                let hop = state.hops.removeValue(forKey: id)
                if hop == nil { state.endings[id] = ending }
                return (hop, true, isReplaced ? current : nil)
            }
            if isCurrent { folder.keep(resumption: resumption, of: id) }
            replaced?.cancel()
            hop?.end(ending)
        }

        func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
            if box.withLock({ $0.gate.didReportAll() }) { callHandlers() }
        }

        func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { didFail(error) }

        // MARK: Parts

        func setSuspended(_ isSuspended: Bool, _ hop: SystemHop) {
            let task = box.withLock { $0.hops[hop.transfer] === hop ? $0.tasks[hop.transfer] : nil }
            if isSuspended { task?.suspend() } else { task?.resume() }
        }

        private static func head(of task: URLSessionTask) -> ResponseHead? {
            (task.response as? HTTPURLResponse).map { ResponseHead($0, bodyIsDecoded: true) }
        }
    }
#endif
