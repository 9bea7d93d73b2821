import Foundation
import Larkspur
import LarkspurInsight

// A client for terminals, modelled on HTTPie:
//
//     swift run --package-path Examples lark --help
//
// CommandLine parses the arguments, Making turns them into a session and a request, Running sends the request, and
// Output shows what comes.

@main
struct Lark {
    static func main() async {
        signal(SIGPIPE, SIG_IGN)
        let signals = Signals.stream()
        let work = Task { try await run(Array(CommandLine.arguments.dropFirst())) }
        let interruption = Interruption()
        // The task lives as long as the process.
        Task {
            for await code in signals {
                // A second Ctrl-C does not wait for the end of the exchange.
                guard await interruption.begin(code) else { await end(code) }
                work.cancel()
            }
        }
        let result = await work.result
        let signal = await interruption.code
        switch result {
        case .success(let code): await end(signal ?? code)
        case .failure(let error):
            let exit = Exit(error)
            if let message = exit.message { try? Terminal.error.write("lark: \(SafeText.line(message))\n") }
            await end(exit.code == .cancelled ? signal ?? exit.code : exit.code)
        }
    }

    private static func end(_ code: ExitCode) async -> Never {
        await Cursor.shared.show()
        exit(code.rawValue)
    }

    private static func run(_ arguments: [String]) async throws -> ExitCode {
        let settings = try CommandLineParser.parse(arguments)
        switch settings.command {
        case .help(let topic): try Terminal.output.write(try Help.text(topic: topic))
        case .version: try Terminal.output.write(Help.version)
        case .waterfall(let archive, let page): try Recording.draw(archive, page)
        case .exchange: return try await exchange(settings)
        }
        return .success
    }

    private static func exchange(_ given: Settings) async throws -> ExitCode {
        var settings = given
        let host = String(try RequestPlan.url(settings).host ?? "")
        var kept = try settings.session.map { try NamedSession($0, host: host) }
        settings = kept?.authenticating(settings) ?? settings
        try settings.askForPassword(host: host)
        let plan = try RequestPlan(settings, kept: kept?.headers ?? [:])
        let recording = try Recording(settings)
        var maker = SessionMaker(settings: settings, plan: plan)
        maker.jar = CookieJar(kept?.cookies ?? [])
        maker.monitors = recording.monitors
        let session = try maker.session()

        let result: Result<ExitCode, any Error>
        do {
            result = .success(try await send(settings, plan, maker, session))
        } catch {
            result = .failure(error)
        }
        // The recording and the cookies are kept after a failure, too.
        try await recording.finish(plan.url)
        if !settings.sessionIsReadOnly, !settings.isOffline, !settings.printsCommand {
            try kept?.save(plan, settings, maker.jar.all)
        }
        return try result.get()
    }

    private static func send(
        _ settings: Settings, _ plan: RequestPlan, _ maker: SessionMaker, _ session: Session
    ) async throws -> ExitCode {
        if settings.downloads, !settings.isOffline, !settings.printsCommand {
            return try await DownloadRun(settings: settings, plan: plan, session: session).run()
        }
        let output = try settings.output.map { try Terminal.file($0) } ?? .output
        if plan.isWebSocket {
            return try await SocketRun(settings: settings, plan: plan, session: session, output: output).run()
        }
        if let count = settings.repetitions, !settings.isOffline, !settings.printsCommand {
            return try await RepeatRun(
                settings: settings, plan: plan, session: session, output: output, count: count
            ).run()
        }
        return try await ExchangeRun(settings: settings, plan: plan, maker: maker, session: session, output: output)
            .run()
    }
}
