import Larkspur
import LarkspurTesting

/// Reads a body as a transport does.
struct PulledBody {
    let stream: any TransportBodyStream
    private(set) var bytes: [UInt8] = []
    private var wakes: AsyncStream<Void>.Iterator

    init(_ body: TransportBody) {
        let (wakes, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.wakes = wakes.makeAsyncIterator()
        stream = body.open()
        stream.begin { continuation.yield() }
    }

    /// Returns the next bytes, none at the end. Throws the error of the stream.
    mutating func next(_ size: Int) async throws -> Int {
        var buffer = [UInt8](repeating: 0, count: size)
        while true {
            switch buffer.withUnsafeMutableBytes({ stream.read(into: $0) }) {
            case .bytes(let count):
                bytes += buffer[..<count]
                return count
            case .pending: await wakes.next()
            case .end: return 0
            case .failed(let error): throw error
            }
        }
    }

    mutating func rest(by size: Int) async throws {
        defer { stream.end() }
        while try await next(size) > 0 {}
    }
}

extension TransportBody {
    func pulled(by size: Int = 65_536) async throws -> [UInt8] {
        var pulled = PulledBody(self)
        try await pulled.rest(by: size)
        return pulled.bytes
    }
}

extension [UInt8] {
    /// Bytes that encode their position.
    static func pattern(_ count: Int) -> [UInt8] { Array(MockResponse.pattern(from: 0, count: count)) }

    /// Returns these bytes in pieces of this size.
    func pieces(of size: Int) -> [[UInt8]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
    }
}

/// An asynchronous sequence of values that are available at once.
struct Pieces<Element: Sendable>: AsyncSequence, Sendable {
    let elements: [Element]
    /// The error after the values.
    var error: ForeignError?
    var onNext: @Sendable () -> Void = {}

    struct AsyncIterator: AsyncIteratorProtocol {
        var elements: IndexingIterator<[Element]>
        let error: ForeignError?
        let onNext: @Sendable () -> Void

        mutating func next() async throws -> Element? {
            onNext()
            if let element = elements.next() { return element }
            if let error { throw error }
            return nil
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(elements: elements.makeIterator(), error: error, onNext: onNext)
    }
}
