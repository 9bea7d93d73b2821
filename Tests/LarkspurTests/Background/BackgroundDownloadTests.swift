import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurTransfers

@Suite("Background downloads", .limited)
struct BackgroundDownloadTests {
    private let runs: BackgroundRuns
    private let served = ServedFile()
    private let url = "https://h/films/7"

    init() throws { runs = try BackgroundRuns() }

    private var place: URL { runs.folder["film"] }

    /// A server that stops sending after 40,000 bytes.
    private func stalling(_ request: TransportRequest, _ number: Int) -> StubAnswer {
        var cut = served
        cut.cut = 40_000
        return StubAnswer(cut.answer(to: request).steps.dropLast() + [.stall])
    }

    /// Waits until the partial file has all bytes that the stalling server sends.
    private func stalls(_ transfer: BackgroundTransfer) async {
        let arrival = runs.folder[".larkspur-\(transfer.id)"]
        let partial = URL(fileURLWithPath: PartialFile.path(for: arrival.path))
        await poll { partial.fileSize == 40_000 }
    }

    @Test("A download places its file, and its record is removed with the delivery of the value")
    func success() async throws {
        let transfers = try runs.begin { request, _ in served.answer(to: request) }
        let film = try await transfers.download(url, to: .file(place), tag: "7")
        #expect(film.kind == .download && film.url == url && film.tag == "7" && !film.isRestored)
        guard case .success(let response) = await film.result else {
            Issue.record("\(await film.result)")
            return
        }
        #expect(film.state == .succeeded)
        #expect(response.fileURL == place && response.head["ETag"] == "\"one\"" && response.data == nil)
        #expect(try runs.files == ["\(film.id).head", "\(film.id).json"])
        #expect(try await film.value.fileURL == place)
        #expect(try Data(contentsOf: place) == served.bytes)
        #expect(try runs.files == [])
        #expect(try runs.downloads == ["film"])
        await transfers.close()
        let next = try runs.begin { _, _ in .stalled }
        #expect(await next.allRestored.isEmpty)
    }

    @Test("The next run continues from the bytes on disk, and restores the transfer exactly once")
    func continues() async throws {
        let first = try runs.begin(answering: stalling)
        let film = try await first.download(url, headers: ["X-Kind": "film"], to: .file(place), tag: "7")
        await stalls(film)
        await first.close()
        #expect(film.state == .closed)
        #expect(await code { _ = try await film.value } == .sessionInvalidated)

        let second = try runs.begin { request, _ in served.answer(to: request) }
        let restored = await second.allRestored
        #expect(restored.map(\.id) == [film.id] && restored.map(\.tag) == ["7"] && restored[0].isRestored)
        #expect(await second.allRestored.isEmpty)
        #expect(try await restored[0].value.fileURL == place)
        #expect(try Data(contentsOf: place) == served.bytes)
        let request = try #require(runs.log.requests.last)
        #expect(request["Range"] == "bytes=40000-" && request["If-Range"] == "\"one\"")
        #expect(request["X-Kind"] == "film")
        #expect(try runs.downloads == ["film"] && runs.files == [])
    }

    @Test("A transfer continues in the next run even if no task iterates the restored ones")
    func continuesAlone() async throws {
        let first = try runs.begin(answering: stalling)
        try await first.download(url, to: .file(place))
        await first.close()
        let second = try runs.begin { request, _ in served.answer(to: request) }
        let transfer = try #require(second.all.first)
        _ = await transfer.result
        #expect(try Data(contentsOf: place) == served.bytes)
    }

    @Test("A result that was not delivered is restored with its response")
    func undelivered() async throws {
        let first = try runs.begin { request, _ in served.answer(to: request) }
        _ = try await first.download(url, to: .file(place)).result
        await first.close()
        let second = try runs.begin { _, _ in .failure(.nameLookup) }
        let restored = try #require(await second.allRestored.first)
        #expect(restored.state == .succeeded)
        let response = try await restored.value
        #expect(response.fileURL == place && response.head.status == 200 && response.head["ETag"] == "\"one\"")
        #expect(runs.log.count == 1)
        #expect(try runs.files == [])
    }

    @Test("A failure that was not delivered is restored with its error, and leaves no partial file")
    func undeliveredFailure() async throws {
        let first = try runs.begin { _, _ in .text("gone", status: 410) }
        let film = try await first.download(url, to: .file(place))
        #expect(await code { _ = try await film.result.get() } == .unacceptableStatus)
        #expect(film.state == .failed)
        #expect(try runs.downloads == [])
        await first.close()
        let second = try runs.begin { _, _ in .stalled }
        let restored = try #require(await second.allRestored.first)
        let error = await #expect(throws: RequestError.self) { try await restored.value }
        #expect(error?.code == .unacceptableStatus && error?.statusCode == 410)
        #expect(try runs.files == [])
    }

    @Test("A pause keeps the bytes, also in the next run, until the transfer is resumed")
    func pause() async throws {
        let first = try runs.begin(answering: stalling)
        let film = try await first.download(url, to: .file(place))
        await stalls(film)
        await film.pause()
        #expect(film.state == .paused)
        await first.close()
        let second = try runs.begin { request, _ in served.answer(to: request) }
        let restored = try #require(await second.allRestored.first)
        #expect(restored.state == .paused && runs.log.count == 1)
        restored.resume()
        _ = try await restored.value
        #expect(runs.log.requests.last?["Range"] == "bytes=40000-")
        #expect(try Data(contentsOf: place) == served.bytes)
    }

    @Test("A transfer that was paused and resumed in one run continues from its bytes")
    func resumed() async throws {
        let transfers = try runs.begin { request, number in
            number == 1 ? stalling(request, number) : served.answer(to: request)
        }
        let film = try await transfers.download(url, to: .file(place))
        await stalls(film)
        await film.pause()
        film.resume()
        _ = try await film.value
        #expect(runs.log.requests.last?["Range"] == "bytes=40000-")
        #expect(try Data(contentsOf: place) == served.bytes)
    }

    @Test("A task that awaits a paused transfer gets an error when the transfers are closed")
    func closedWhilePaused() async throws {
        let transfers = try runs.begin(answering: stalling)
        let film = try await transfers.download(url, to: .file(place))
        await film.pause()
        let awaiter = Task { await code { _ = try await film.value } }
        await poll { film.box.withLock { !$0.waiters.isEmpty } }
        await transfers.close()
        #expect(await awaiter.value == .sessionInvalidated)
        #expect(film.state == .closed)
    }

    @Test("A cancelled transfer leaves nothing, running or paused", arguments: [false, true])
    func cancel(isPaused: Bool) async throws {
        let transfers = try runs.begin(answering: stalling)
        let film = try await transfers.download(url, to: .file(place))
        await stalls(film)
        if isPaused { await film.pause() }
        await film.cancel()
        #expect(film.state == .cancelled)
        await #expect(throws: CancellationError.self) { try await film.value }
        #expect(try runs.downloads == [] && runs.files == [])
    }

    @Test("Cancelling the task that awaits a transfer neither cancels the transfer nor loses its result")
    func cancelledAwaiter() async throws {
        let gate = Gate()
        let transfers = try runs.begin(interceptor: Interceptor(adapt: { _, _ in await gate.pass() })) { request, _ in
            served.answer(to: request)
        }
        let film = try await transfers.download(url, to: .file(place))
        let awaiter = Task { try await film.value }
        await gate.arrived()
        awaiter.cancel()
        await #expect(throws: CancellationError.self) { try await awaiter.value }
        gate.open()
        #expect(try await film.value.fileURL == place)
    }

    @Test("Tokens come from interceptors again in the next run, and no secret is on disk")
    func secrets() async throws {
        let secret = "s3cret"
        let headers: HTTPHeaders = [
            "Authorization": "Bearer \(secret)", "Cookie": "id=\(secret)", "Proxy-Authorization": "Basic \(secret)",
            "X-Api-Key": secret, "Accept-Language": "en",
        ]
        let first = try runs.begin(answering: stalling)
        let film = try await first.download("https://ada:\(secret)@h/films/7", headers: headers, to: .file(place))
        await stalls(film)
        #expect(runs.log.requests.first?["Authorization"] == "Bearer \(secret)")
        #expect(try runs.text.contains("Accept-Language"))
        #expect(try !runs.text.contains(secret))
        await first.close()
        let token = Interceptor(adapt: { request, _ in request.headers["Authorization"] = "Bearer new" })
        let second = try runs.begin(interceptor: token) { request, _ in
            var answer = served
            answer.fields.add(name: "Set-Cookie", value: "id=\(secret)")
            return answer.answer(to: request)
        }
        let restored = try #require(await second.allRestored.first)
        _ = await restored.result
        #expect(runs.log.requests.last?["Authorization"] == "Bearer new" && runs.log.requests.last?["Cookie"] == nil)
        #expect(runs.log.requests.last?["Accept-Language"] == "en")
        #expect(try !runs.text.contains(secret))
    }

    @Test("Records are readable by their owner alone")
    func permissions() async throws {
        let transfers = try runs.begin(answering: stalling)
        let film = try await transfers.download(url, to: .file(place))
        let path = runs.records.appendingPathComponent("\(film.id).json").path
        for (path, mode) in [(path, 0o600), (runs.records.path, 0o700)] {
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == mode)
        }
    }

    @Test("Lost connections and temporary statuses are retried, from the bytes on disk")
    func retries() async throws {
        var cut = served
        cut.cut = 40_000
        let (clock, first) = (LeapingClock(), cut)
        var configuration = SessionConfiguration.bare
        configuration.clock = clock
        let transfers = try runs.begin(.init(), configuration: configuration) { request, number in
            switch number {
            case 1: first.answer(to: request)
            case 2...20: .failure(.connectionRefused)
            case 21: .text("later", status: 503)
            default: served.answer(to: request)
            }
        }
        _ = try await transfers.download(url, to: .file(place)).value
        #expect(try Data(contentsOf: place) == served.bytes)
        #expect(runs.log.requests.last?["Range"] == "bytes=40000-")
        #expect(clock.sleeps.count == 21 && clock.sleeps.allSatisfy { $0 <= .seconds(60) })
    }

    @Test("An error of the server is not retried for ever, and a permanent one not at all", arguments: [503, 404])
    func refused(status: Int) async throws {
        var configuration = SessionConfiguration.bare
        configuration.clock = LeapingClock()
        let transfers = try runs.begin(.init(), configuration: configuration) { _, _ in .text("no", status: status) }
        let film = try await transfers.download(url, to: .file(place))
        #expect(await code { _ = try await film.value } == .unacceptableStatus)
        #expect(runs.log.count == (status == 503 ? 11 : 1))
    }

    @Test("A refused token is renewed, and the transfer goes on")
    func renewal() async throws {
        let interceptor = Interceptor(
            adapt: { request, state in request.headers["Authorization"] = "Bearer \(state.attempt)" },
            retry: { _, _, error in error.statusCode == 401 ? .retry : .doNotRetry })
        let transfers = try runs.begin(interceptor: interceptor) { request, _ in
            request["Authorization"] == "Bearer 2" ? served.answer(to: request) : .text("who?", status: 401)
        }
        #expect(try await transfers.download(url, to: .file(place)).value.head.status == 200)
    }

    @Test("Only so many transfers are in flight, and those that wait can be paused and cancelled")
    func limit() async throws {
        let options = BackgroundTransfers.Options {
            $0.retry = nil
            $0.maximumConcurrentTransfers = 2
        }
        let transfers = try runs.begin(options) { request, number in
            number <= 2 ? stalling(request, number) : served.answer(to: request)
        }
        var films: [BackgroundTransfer] = []
        for number in 0..<5 {
            films.append(try await transfers.download("\(url)/\(number)", to: .file(runs.folder["\(number)"])))
            if number < 2 { await stalls(films[number]) }
        }
        await films[2].pause()
        await films[3].cancel()
        #expect(films.map(\.state) == [.running, .running, .paused, .cancelled, .running])
        #expect(runs.log.count == 2)
        await films[0].cancel()
        _ = try await films[4].value
        films[2].resume()
        _ = try await films[2].value
        #expect(runs.log.requests.map { $0.url.text.last } == ["0", "1", "4", "2"])
        let partial = "..larkspur-\(films[1].id).larkspur"
        #expect(try runs.downloads == [partial, partial + ".json", "2", "4"])
    }

    @Test("A suggested name comes from the response, and the checksum is checked")
    func suggested() async throws {
        var hash = StreamingHash(.sha256)
        served.bytes.withUnsafeBytes { hash.update($0) }
        let sum = hash.finalize().hexadecimal
        var named = served
        named.fields.add(name: "Content-Disposition", value: "attachment; filename=\"a b.mov\"")
        let transfers = try runs.begin { [named] request, _ in named.answer(to: request) }
        let folder = runs.folder["new"]
        let options: [DownloadOption] = [.createIntermediateDirectories, .checksum(.sha256, sum)]
        let film = try await transfers.download(url, to: .suggested(in: folder), options: options)
        #expect(try await film.value.fileURL?.path == folder.appendingPathComponent("a b.mov").path)
        let wrong: [DownloadOption] = [.checksum(.sha256, String(repeating: "0", count: 64))]
        let other = try await transfers.download(url, to: .file(place), options: wrong)
        #expect(await code { _ = try await other.value } == .checksumMismatch)
        #expect(try runs.downloads == ["new"])
    }

    @Test("An existing file is replaced only if the caller wants it")
    func replacing() async throws {
        try runs.folder.write("old".utf8, to: "film")
        let transfers = try runs.begin { request, _ in served.answer(to: request) }
        #expect(await code { try await transfers.download(url, to: .file(place)) } == .fileExists)
        #expect(try runs.files == [])
        _ = try await transfers.download(url, to: .file(place), options: [.removePreviousFile]).value
        #expect(try Data(contentsOf: place) == served.bytes)
    }
}
