#if Foundation || canImport(Darwin)
    extension Request {
        /// Returns a Foundation `Progress` of sending the request's body, for views and parent progresses.
        ///
        /// The returned value has the throughput and the estimated remaining time. Its `cancel`, `pause` and `resume`
        /// act on the request. Creating the value does not start the request. The value is thread-safe on all
        /// platforms; a parent `Progress` is thread-safe on Apple's platforms only.
        public func makeUploadProgress() -> Progress { makeProgress(.upload) }

        /// Returns a Foundation `Progress` of receiving the response's body. In all other respects this method works
        /// like ``makeUploadProgress()``.
        public func makeDownloadProgress() -> Progress { makeProgress(.download) }

        private func makeProgress(_ topic: RequestTopic<TransferProgress>) -> Progress {
            let progress = SharedProgress(totalUnitCount: -1)
            progress.cancellationHandler = { [weak self] in _ = self?.cancel() }
            (progress.isCancellable, progress.isPausable) = (true, true)
            progress.pausingHandler = { [weak self] in _ = self?.suspend() }
            progress.resumingHandler = { [weak self] in _ = self?.resume() }
            let stream = handle.core.follow(topic)
            Task { [weak self] in
                var rate = TransferRate()
                for await current in stream {
                    progress.totalUnitCount = current.total.map(Int64.init(clamping:)) ?? -1
                    progress.completedUnitCount = Int64(clamping: current.completed)
                    rate.update(current.completed, at: .now)
                    let timeLeft = rate.timeLeft(of: current).map { $0 / .seconds(1) }
                    progress.setUserInfoObject(rate.bytesPerSecond.map { Int($0) }, forKey: .throughputKey)
                    progress.setUserInfoObject(timeLeft, forKey: .estimatedTimeRemainingKey)
                }
                // The stream has ended. If the request succeeded with a body of unknown or zero length, complete the
                // progress. Its total is then the number of transferred bytes, but at least 1, because a `Progress` of
                // zero units never finishes. If the request was released, its result is unknown.
                guard progress.totalUnitCount <= 0, let self, self.error == nil else { return }
                progress.completedUnitCount = max(1, progress.completedUnitCount)
                progress.totalUnitCount = progress.completedUnitCount
            }
            return progress
        }
    }
#endif
