import Foundation
import Larkspur

@testable import LarkspurCore

/// The outcome of a parser: its values, and the error that ended them.
struct ParsingOutcome<Value: Equatable & Sendable>: Equatable, Sendable {
    var values: [Value] = []
    var failure: RequestError.Code?
}

extension StreamParser where Output: Equatable {
    /// Parses the chunks with a copy of the parser, up to the end or the first failure.
    func outcome(_ chunks: some Sequence<[UInt8]>) -> ParsingOutcome<Output> {
        var parser = self
        var outcome = ParsingOutcome<Output>()
        do {
            for chunk in chunks {
                try chunk.withUnsafeBytes { bytes in
                    var rest = bytes
                    while let value = try parser.next(in: &rest) { outcome.values.append(value) }
                    precondition(rest.isEmpty, "a parser that wants more has used what there was")
                }
            }
            if let last = try parser.end() { outcome.values.append(last) }
        } catch {
            outcome.failure = (error as? RequestError)?.code ?? .serializationFailed
        }
        return outcome
    }

    func outcome(_ document: String) -> ParsingOutcome<Output> { outcome([Array(document.utf8)]) }

    /// Splits the document in two at every position, and into single bytes. Returns the first split whose outcome
    /// differs from that of the whole document.
    func firstDifference(in document: [UInt8]) -> (chunks: [[UInt8]], outcome: ParsingOutcome<Output>)? {
        let whole = outcome([document])
        let cuts = (0...document.count).map { [Array(document[..<$0]), Array(document[$0...])] }
        for chunks in cuts + [document.map { [$0] }] {
            let parts = outcome(chunks)
            if parts != whole { return (chunks, parts) }
        }
        return nil
    }
}

extension SeededRandom {
    /// Returns the document in chunks of random sizes, some of them empty.
    mutating func chunks(of document: [UInt8], upTo size: Int) -> [[UInt8]] {
        var chunks: [[UInt8]] = []
        var start = 0
        while start < document.count {
            let end = min(document.count, start + Int.random(in: 0...size, using: &self))
            chunks.append(Array(document[start..<end]))
            start = end
        }
        return chunks
    }
}

/// A sequence of chunks that counts the requested ones, and may end with an error.
struct ChunkSequence: AsyncSequence, Sendable {
    let chunks: [Data]
    var failure: (any Error)?
    let asked = Protected(0)

    init(_ chunks: [String], failure: (any Error)? = nil) {
        self.chunks = chunks.map { Data($0.utf8) }
        self.failure = failure
    }

    struct Iterator: AsyncIteratorProtocol {
        let sequence: ChunkSequence
        var index = 0

        mutating func next() async throws -> Data? {
            sequence.asked.withLock { $0 += 1 }
            guard index < sequence.chunks.count else {
                if let failure = sequence.failure { throw failure }
                return nil
            }
            defer { index += 1 }
            return sequence.chunks[index]
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(sequence: self) }
}
