import Larkspur

/// The request that one view follows, such as an activity indicator or a progress bar.
///
/// A tracker follows one request at a time: calls about an earlier request end with the next one. It does not start the
/// request, and neither keeps the other alive. The views of UIKit and AppKit have trackers of their own.
@MainActor
public final class RequestTracker {
    private var number = 0
    private var isRunning: Bool?

    /// Creates a tracker without a request.
    public init() {}

    /// Calls the closure at once, and with each change, with whether the request runs: it was started, is not suspended
    /// and has not finished. Retries and redirects are parts of one run.
    ///
    /// - Parameters:
    ///   - request: The request; nil for none, which does not run.
    ///   - update: Shows the activity.
    public func followActivity(of request: (any Request)?, _ update: @escaping @MainActor (Bool) -> Void) {
        stop()
        let number = number
        if let request, request.status != .finished {
            // The monitor is added before the status is read, so that no change is missed.
            request.eventMonitor(
                ClosureEventMonitor { [weak self] request, event in
                    switch event {
                    case .resume, .suspend, .start, .cancel, .finish:
                        // The monitor does not wait for the main actor. The status is read there, so the order of these
                        // tasks does not matter.
                        Task { @MainActor in self?.report(request.status, of: number, update) }
                    default: break
                    }
                })
        }
        report(request?.status ?? .finished, of: number, update)
    }

    /// Calls the closure with the latest progress of the request, and after each call with the next one.
    ///
    /// - Parameters:
    ///   - request: The request; nil for none.
    ///   - phase: The upload of the request's body or the download of the response's body.
    ///   - update: Shows the progress.
    public func followProgress(
        of request: (any Request)?, phase: RequestProgress.Phase = .download,
        _ update: @escaping @MainActor (TransferProgress) -> Void
    ) {
        stop()
        guard let request else { return }
        let number = number
        let report: @Sendable (TransferProgress) async -> Void = { [weak self] in
            await self?.report($0, of: number, update)
        }
        switch phase {
        case .upload: request.uploadProgress(perform: report)
        case .download: request.downloadProgress(perform: report)
        }
    }

    /// Stops following the request, which continues.
    public func stop() {
        number += 1
        isRunning = nil
    }

    private func report(_ status: RequestStatus, of number: Int, _ update: @MainActor (Bool) -> Void) {
        let isRunning = status == .resumed
        guard number == self.number, isRunning != self.isRunning else { return }
        self.isRunning = isRunning
        update(isRunning)
    }

    private func report(
        _ progress: TransferProgress, of number: Int, _ update: @MainActor (TransferProgress) -> Void
    ) {
        if number == self.number { update(progress) }
    }
}
