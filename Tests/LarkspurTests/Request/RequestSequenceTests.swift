import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Sequences of what is sent and what comes", .limited)
struct RequestSequenceTests {
    private let log = TransportLog()

    /// A redirect, then a refusal that is retried, then the redirect again and the answer.
    private func request() async -> DataRequest {
        let session = log.session { request, number in
            if request.url.path == "/a" { return .redirect(to: "/b?token=s3cret") }
            return number == 2 ? .text("busy", status: 503) : .text("ok")
        }
        return await session.request("http://h/a").validate()
            .retry(using: .retrier { request, _, _ in request.retryCount == 0 ? .retry : .doNotRetry })
    }

    @Test(
        "The sequences have every hop of every attempt, in order, for any number of readers at any time",
        arguments: [0, 1, 2])
    func everything(readersBefore: Int) async throws {
        let request = await request()
        let readers = (0..<readersBefore).map { _ in
            (request.requests.makeAsyncIterator(), request.heads.makeAsyncIterator())
        }
        #expect(try await request.serializingString().value == "ok")
        for (requests, responses) in readers + [
            (request.requests.makeAsyncIterator(), request.heads.makeAsyncIterator())
        ] {
            #expect(await rest(of: requests).map(\.url.path) == ["/a", "/b", "/a", "/b"])
            #expect(await rest(of: responses).map(\.status) == [302, 503, 302, 200])
        }
        #expect(log.count == 4)
    }

    private func rest<Element>(of iterator: AsyncStream<Element>.Iterator) async -> [Element] {
        var (iterator, elements) = (iterator, [] as [Element])
        while let element = await iterator.next() { elements.append(element) }
        return elements
    }

    @Test("Commands for a shell come with each request, and hide secrets")
    func commands() async {
        var commands: [String] = []
        for await command in await request().cURLDescriptions { commands.append(command) }
        #expect(commands.count == 4)
        #expect(commands.allSatisfy { $0.hasPrefix("curl ") && !$0.contains("s3cret") })
        #expect(commands[1].contains("http://h/b?token=REDACTED"))
    }

    @Test("Iterating any of them starts the request, making one does not", arguments: 0..<3)
    func starts(which: Int) async {
        let request = await request()
        let (requests, responses, commands) = (request.requests, request.heads, request.cURLDescriptions)
        #expect(request.status == .initialized)
        switch which {
        case 0: for await _ in requests {}
        case 1: for await _ in responses {}
        default: for await _ in commands {}
        }
        #expect(request.status == .finished)
        // A request that waits to be started is its session's, which has to stay.
        let session = log.session()
        let waiting = await session.request("http://h/", startsAutomatically: false)
        var unstarted = waiting.requests.makeAsyncIterator()
        #expect(waiting.status == .initialized)
        waiting.resume()
        #expect(await unstarted.next()?.url.path == "/")
        await session.invalidate()
    }

    @Test("An element comes when it happens: the request before any answer, the head before the body's end")
    func live() async {
        let session = log.session { _, _ in
            StubAnswer([.head(ResponseHead(status: 206)), .body(Data("part".utf8)), .stall])
        }
        let request = await session.request("http://h/")
        var requests = request.requests.makeAsyncIterator()
        var responses = request.heads.makeAsyncIterator()
        #expect(await requests.next()?.url.path == "/")
        #expect(await responses.next()?.status == 206)
        #expect(request.status == .resumed)
        request.cancel()
        #expect(await requests.next() == nil)
        #expect(await responses.next() == nil)
    }

    @Test("A request that was never sent is in none of the sequences, and they still end (R4)")
    func nothingSent() async {
        let unbuilt = await log.session().request("no url")
        for await _ in unbuilt.requests { Issue.record("nothing was sent") }
        for await _ in unbuilt.heads { Issue.record("nothing came") }
        let lost = await log.session { _, _ in .failure(.connectionRefused) }.request("http://h/")
        for await _ in lost.heads { Issue.record("nothing came") }
        #expect(await rest(of: lost.requests.makeAsyncIterator()).count == 1)
        // A request that is released before its start ends its sequences.
        var orphan = await log.session().request("http://h/", startsAutomatically: false).requests.makeAsyncIterator()
        #expect(await orphan.next() == nil)
    }

    @Test("Readers that have stopped are released, and delay no other reader")
    func goneReaders() async throws {
        let transport = HeldTransport()
        var hops = transport.hops
        let session = Session(transport: transport)
        let request = await session.request("http://h/")
        let first = await request.requests.first { _ in true }
        #expect(first?.url.path == "/")
        _ = request.heads.makeAsyncIterator()
        #expect(request.handle.core.read { $0.settings.followers.heads.count } == 1)
        let task = request.serializingString()
        _ = await hops.next()
        transport.answer(307, headers: ["Location": "/2"])
        #expect(await request.requests.first { $0.url.path == "/2" } != nil)
        #expect(request.handle.core.read { $0.settings.followers.heads.isEmpty })
        _ = await hops.next()
        transport.answer()
        #expect(try await task.value == "text")
    }

    @Test("4,000 readers that 8 tasks start during the hops: each gets every hop once, in order")
    func racing() async {
        let session = log.session { request, _ in
            let number = Int(request.url.path.dropFirst()) ?? 0
            // On another thread each time, so that readers come in between.
            let answer: StubAnswer = number < 20 ? .redirect(307, to: "/\(number + 1)") : .text("ok")
            return answer.after(.zero)
        }
        let hops = (0...20).map { "/\($0)" }
        for _ in 0..<10 {
            let request = await session.request("http://h/0").resume()
            await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        var readers: [AsyncStream<OutgoingRequest>.Iterator] = []
                        for _ in 0..<50 {
                            readers.append(request.requests.makeAsyncIterator())
                            await Task.yield()
                        }
                        for reader in readers {
                            guard await rest(of: reader).map({ String($0.url.path) }) == hops else { return false }
                        }
                        return true
                    }
                }
                for await hasAll in group { #expect(hasAll) }
            }
            #expect(await rest(of: request.heads.makeAsyncIterator()).count == 21)
        }
    }
}
