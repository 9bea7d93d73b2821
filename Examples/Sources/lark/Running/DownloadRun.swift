import Foundation
import Larkspur

/// A download with a progress bar. What has arrived stays after Ctrl-C or a lost connection.
struct DownloadRun {
    let settings: Settings
    let plan: RequestPlan
    let session: Session

    func run() async throws -> ExitCode {
        let here = URL(fileURLWithPath: FileManager.default.currentDirectoryPath)
        let destination = settings.output.map { Destination.file(URL(fileURLWithPath: $0)) } ?? .suggested(in: here)
        var options: [DownloadOption] = settings.output == nil ? [] : [.removePreviousFile]
        if !settings.continues { options.append(.startOver) }
        let request = await session.download(
            plan.url, method: plan.method, headers: plan.headers, body: plan.body, to: destination, options: options)
        request.validate(statusCode: 200..<300)

        // The head goes to standard error, so that nothing of it is in a pipe.
        let printer = MessagePrinter(settings, .error)
        let printsHead = settings.printed.map { $0.contains("h") } ?? printer.terminal.isTerminal
        if printsHead {
            request.onResponseHead { head in
                try? printer.print(head)
                return .allow
            }
        }
        return try await withTaskCancellationHandler {
            try await follow(request)
        } onCancel: {
            Task { _ = await request.cancelProducingResumeRecord() }
        }
    }

    private func follow(_ request: DownloadRequest) async throws -> ExitCode {
        let bar = ProgressBar(settings.output ?? String(plan.url.path.split(separator: "/").last ?? "download"))
        let progress = request.makeDownloadProgress()
        let result = request.serializingFile(automaticallyCancelling: false)
        await bar.follow(request.downloadProgress, progress)
        let response = await result.response
        await bar.finish(keeps: response.error == nil)
        guard let error = response.error else {
            let file = try await result.value
            let size = (try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? UInt64) ?? 0
            try? Terminal.error.write("saved \(SafeText.line(Self.name(of: file))), \(MessagePrinter.bytes(size))\n")
            return .success
        }
        let record = response.resumeRecord
        let kept = record.map { "; \(MessagePrinter.bytes($0.offset)) are kept, --continue fetches the rest" } ?? ""
        let canContinue = settings.output != nil
        if error.isCancelled || Task.isCancelled {
            throw Exit(.cancelled, canContinue ? "the download was cancelled; --continue fetches the rest" : nil)
        }
        let exit = Exit(error)
        throw Exit(exit.code, exit.message.map { canContinue ? $0 + kept : $0 })
    }

    private static func name(of file: URL) -> String {
        let here = FileManager.default.currentDirectoryPath + "/"
        return file.path.hasPrefix(here) ? String(file.path.dropFirst(here.count)) : file.path
    }
}
