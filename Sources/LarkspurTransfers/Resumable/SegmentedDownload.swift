/// A download to a file over several connections at the same time. Each connection transfers a part of the file.
///
///     let download = await session.download(url, to: archive, segments: 4)
///     for await progress in download.progress { print(progress) }
///     let file = try await download.value
///
/// A download is lazy, like a request: awaiting ``value``, iterating ``progress`` or calling ``resume()`` starts it. A
/// started download runs even if no task awaits it, and keeps its session alive.
///
/// See <doc:Downloads> for when a server's file is divided, and for which bytes a failed download keeps.
public final class SegmentedDownload: Sendable {
    // Immutable
    private let plan: SegmentedDownloadPlan
    private let work = TransferWork<URL>(endsWithTask: true)
    private let keepsBytes = Protected(true)

    init(_ plan: SegmentedDownloadPlan) { self.plan = plan }

    /// The progress of the download over all its connections. The progress begins with the bytes that an earlier
    /// download has left. It decreases only if the server's file becomes shorter. The sequence ends with the download.
    public var progress: RequestSequence<TransferProgress> {
        work.progress { [self] in resume() }
    }

    /// The URL of the complete file. Throws `CancellationError` if the download was cancelled, else a ``RequestError``.
    ///
    /// If an awaiting task is cancelled and other tasks await the value, that task gets the error at once. If no other
    /// task awaits the value, the download is cancelled, and the task gets its outcome.
    public var value: URL {
        get async throws { try await work.value(startingWith: resume) }
    }

    /// Starts the download.
    public func resume() {
        work.start { [self] in
            try await SegmentedDownloadRun(plan, work.feed).run { keepsBytes.withLock { $0 } }
        }
    }

    /// Cancels the download. Its ``value`` throws when the last file operation is done.
    ///
    /// - Parameter keepingBytes: Whether the received bytes are kept, so that the next download of the same URL to the
    ///   same file resumes; true by default.
    public func cancel(keepingBytes: Bool = true) {
        if !keepingBytes { keepsBytes.withLock { $0 = false } }
        work.cancel()
    }
}

extension SegmentedDownload: CustomReflectable {
    /// A mirror without the download's URL and headers.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
