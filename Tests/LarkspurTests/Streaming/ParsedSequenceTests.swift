import Foundation
import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Sequences of a stream's values", .limited)
struct ParsedSequenceTests {
    private struct Tick: Codable, Sendable, Equatable {
        let count: Int
    }

    @Test("A chunk is requested when the one before is used up and another value is wanted")
    func backpressure() async throws {
        let chunks = ChunkSequence(["a\nb\nc", "d\n", "e"])
        var iterator = chunks.lines.makeAsyncIterator()
        var seen: [String] = []
        var asked: [Int] = []
        while let line = try await iterator.next() {
            seen.append(line)
            asked.append(chunks.asked.withLock { $0 })
        }
        #expect(seen == ["a", "b", "cd", "e"])
        #expect(asked == [1, 1, 2, 4])
    }

    @Test("Each iteration begins with a fresh parser")
    func iterations() async throws {
        let events = ChunkSequence(["id: 1\ndata: a\n\nda", "ta: b\n\n"]).serverSentEvents()
        for _ in 0..<2 {
            let all = try await events.reduce(into: []) { $0.append($1) }
            #expect(all == [ServerSentEvent(id: "1", data: "a"), ServerSentEvent(id: "1", data: "b")])
        }
    }

    @Test("All ways to read a stream return its values")
    func ways() async throws {
        func all<S: AsyncSequence>(_ values: S) async throws -> [S.Element] {
            try await values.reduce(into: []) { $0.append($1) }
        }
        let ticks = [Tick(count: 1), Tick(count: 2)]
        #expect(try await all(ChunkSequence(["x\n", "\ny"]).lines) == ["x", "", "y"])
        #expect(try await all(ChunkSequence(["x\n", "", "\ny"]).strings) == ["x\n", "\ny"])
        let lines = ChunkSequence(["{\"count\":1}\n{\"co", "unt\":2}"])
        #expect(try await all(lines.messages(framing: .jsonLines)).count == 2)
        #expect(try await all(lines.decodables(of: Tick.self, framing: .jsonLines)) == ticks)
        let texts = ChunkSequence(["\u{1E}{\"count\":1}\n\u{1E}{\"co", "unt\":2}"])
        #expect(try await all(texts.decodables(of: Tick.self, framing: .jsonSequence)) == ticks)
        let events = ChunkSequence(["data:{\"count\"", ":1}\n\ndata: {\"count\":\ndata: 2}\n\n"])
        #expect(try await all(events.decodables(of: Tick.self, framing: .serverSentEvents)) == ticks)
        let plist = PropertyListEncoder()
        plist.outputFormat = .xml
        let property = String(decoding: try plist.encode(ticks[0]), as: UTF8.self)
        let framed = ChunkSequence(["\(property)\0", "\(property)\0"])
        let framing = StandardFraming.custom { bytes in bytes.firstIndex(of: 0).map { (0..<$0, $0 + 1) } }
        let decoded = framed.decodables(of: Tick.self, framing: framing, decoder: PropertyListDecoder())
        #expect(try await all(decoded) == [ticks[0], ticks[0]])
    }

    @Test("An error names its element, after the earlier values; then the sequence ends and requests no chunk")
    func failures() async throws {
        let chunks = ChunkSequence(["{\"count\":1}\n\n{\"count\":", "2}\n{}\n", "{\"count\":4}\n"])
        var iterator = chunks.decodables(of: Tick.self, framing: .jsonLines).makeAsyncIterator()
        #expect(try await iterator.next()?.count == 1)
        #expect(try await iterator.next()?.count == 2)
        let error = await #expect(throws: RequestError.self) { try await iterator.next() }
        #expect(error?.code == .decodingFailed)
        #expect(error?.stage == .serializing)
        #expect(error?.message.hasPrefix("element 3 of the stream: ") == true)
        #expect(error?.underlying is DecodingError)
        #expect(try await iterator.next() == nil)
        #expect(chunks.asked.withLock { $0 } == 2)
    }

    @Test("A failure at the end of the stream names its element")
    func failureAtTheEnd() async throws {
        var iterator = ChunkSequence(["\0\u{1}a\0"]).messages(framing: .lengthPrefixed(bytes: 2)).makeAsyncIterator()
        #expect(try await iterator.next() == Data("a".utf8))
        let error = await #expect(throws: RequestError.self) { try await iterator.next() }
        #expect(error?.code == .incompleteMessage)
        #expect(error?.message.hasPrefix("element 2 of the stream: ") == true)
        #expect(try await iterator.next() == nil)
    }

    @Test("The error of a custom parser is the underlying error")
    func foreignFailure() async throws {
        struct Mine: Error {}
        var iterator = ChunkSequence(["a"]).messages(framing: .custom { _ in throw Mine() }).makeAsyncIterator()
        let error = await #expect(throws: RequestError.self) { try await iterator.next() }
        #expect(error?.code == .serializationFailed)
        #expect(error?.underlying is Mine)
    }

    @Test(
        "An error of the base sequence is thrown unchanged after all complete values, and an incomplete one is dropped")
    func baseFailure() async throws {
        let lost = RequestError(.connectionLost, "gone")
        for failure in [lost, CancellationError()] as [any Error] {
            var iterator = ChunkSequence(["a\nb"], failure: failure).lines.makeAsyncIterator()
            #expect(try await iterator.next() == "a")
            let error = await #expect(throws: (any Error).self) { try await iterator.next() }
            #expect((error is CancellationError) == (failure is CancellationError))
            if let error = error as? RequestError { #expect(error.isSame(as: lost)) }
            #expect(try await iterator.next() == nil)
        }
    }

    @Test("Iterating on an actor does not leave it")
    @MainActor func isolation() async throws {
        struct Chunks: AsyncSequence, AsyncIteratorProtocol {
            var chunks = [Data("a\n".utf8)]
            mutating func next(isolation actor: isolated (any Actor)?) async -> Data? {
                #expect(actor === MainActor.shared)
                return chunks.popLast()
            }
            mutating func next() async -> Data? { chunks.popLast() }
            func makeAsyncIterator() -> Self { self }
        }
        for try await line in Chunks().lines { #expect(line == "a") }
    }
}
