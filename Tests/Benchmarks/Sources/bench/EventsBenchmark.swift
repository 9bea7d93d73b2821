import CAllocations
import Larkspur

/// The speed at which a `text/event-stream` becomes events: by the parser alone, and through the asynchronous sequence.
struct EventsBenchmark {
    /// The size of a chunk: what one read of a socket returns.
    private static let chunkSize = 16 * 1_024

    private struct Chunks: AsyncSequence, AsyncIteratorProtocol {
        var chunks: ArraySlice<Data>

        mutating func next(isolation actor: isolated (any Actor)?) async -> Data? { chunks.popFirst() }
        mutating func next() async -> Data? { chunks.popFirst() }
        func makeAsyncIterator() -> Chunks { self }
    }

    /// Prints a line for each size of the events' data: megabytes a second of CPU time, as the median of several
    /// rounds.
    func run() async throws {
        for size in [100, 300, 1_000] {
            let text = String(repeating: "abcdefghij", count: size / 10)
            let event = "event: delta\nid: 12345\ndata: \(text)\n\n"
            let document = Data(String(repeating: event, count: (8 << 20) / event.utf8.count).utf8)
            let chunks = stride(from: 0, to: document.count, by: Self.chunkSize).map {
                Data(document[$0..<min($0 + Self.chunkSize, document.count)])
            }
            var parser: [Double] = []
            var sequence: [Double] = []
            for _ in 0..<7 {
                var start = larkspur_cpu_microseconds()
                let parsed = try parse(chunks)
                parser.append(Double(document.count) / (larkspur_cpu_microseconds() - start))
                start = larkspur_cpu_microseconds()
                var iterated = 0
                for try await event in Chunks(chunks: chunks[...]).serverSentEvents() {
                    iterated += event.data.utf8.count
                }
                sequence.append(Double(document.count) / (larkspur_cpu_microseconds() - start))
                guard parsed == iterated else { preconditionFailure("both ways give the same events") }
            }
            print(
                "scenario=sse data_bytes=\(size) bytes=\(document.count) parser_mbps=\(median(parser))",
                "sequence_mbps=\(median(sequence))")
        }
    }

    /// Parses all chunks and returns the number of data bytes.
    private func parse(_ chunks: [Data]) throws -> Int {
        var parser = ServerSentEventParser()
        var bytes = 0
        for chunk in chunks {
            try chunk.withUnsafeBytes { buffer in
                var rest = buffer
                while let event = try parser.next(in: &rest) { bytes += event.data.utf8.count }
            }
        }
        return bytes
    }

    private func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2].rounded() }
}
