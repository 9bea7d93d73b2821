import Foundation
import Larkspur

/// One request and its response, shown while it arrives.
struct ExchangeRun {
    let settings: Settings
    let plan: RequestPlan
    let maker: SessionMaker
    let session: Session
    let output: Terminal

    func run() async throws -> ExitCode {
        let request = await session.streamRequest(
            plan.url, method: plan.method, headers: plan.headers, body: plan.body)
        if settings.printsCommand { return try await printCommand(request) }
        let view = ResponseView(MessagePrinter(settings, output), settings)
        let (maker, showsAll) = (maker, settings.showsAll)
        let failure = FirstError()
        // The head is shown before the body begins, so a slow stream says at once what it is.
        request.onResponseHead { [weak request] head in
            guard let request, !maker.willRetry(head.status, after: request.retryCount) else { return .allow }
            do {
                try await view.show(request, head, all: showsAll)
                return .allow
            } catch {
                await failure.set(error)
                return .cancel
            }
        }
        do {
            try await read(request, view)
        } catch {
            if let earlier = await failure.error { throw earlier }
            if let error = error as? RequestError, settings.retries > 0, error.code == .unacceptableStatus {
                try await showRefused(error, request, view)
            } else {
                if !(error is Exit) { try? await view.show(request, nil, all: showsAll) }
                throw error
            }
        }
        try await view.showTimes(request)
        guard settings.checksStatus, let status = request.head?.status else { return .success }
        let code = ExitCode(status: status)
        if code != .success, settings.printed == [] || !output.isTerminal {
            try? Terminal.error.write("lark: the status is \(status) \(ResponseHead(status: status).statusText)\n")
        }
        return code
    }

    private func read(_ request: DataStreamRequest, _ view: ResponseView) async throws {
        if settings.isOffline {
            _ = await request.completion
            return try await view.show(request, nil, all: false)
        }
        let bytes = request.bytes
        let bar = ProgressBar("sent", after: .milliseconds(300))
        let upload = Task { await bar.follow(request.uploadProgress, request.makeUploadProgress()) }
        defer { upload.cancel() }
        do {
            for try await chunk in bytes {
                await bar.finish()
                guard await view.needsBody else { break }
                try await view.receive(chunk)
            }
        } catch {
            await bar.finish()
            throw error
        }
        await bar.finish()
        try await view.finish()
    }

    /// Shows the last response of a request whose attempts are used up.
    private func showRefused(_ error: RequestError, _ request: DataStreamRequest, _ view: ResponseView) async throws {
        try await view.show(request, error.responseHead, all: settings.showsAll)
        if let data = error.responseData { try await view.receive(data) }
        try await view.finish()
    }

    private func printCommand(_ request: DataStreamRequest) async throws -> ExitCode {
        let completion = await request.completion
        guard let sent = request.request else { throw completion.error ?? CancellationError() }
        try output.write(sent.cURLDescription(redacting: settings.showsSecrets ? .none : .standard) + "\n")
        return .success
    }
}

/// The first of several errors.
actor FirstError {
    private(set) var error: (any Error)?

    func set(_ error: any Error) { self.error = self.error ?? error }
}
