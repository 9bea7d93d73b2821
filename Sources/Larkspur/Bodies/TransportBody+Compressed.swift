import LarkspurTransport

extension TransportBody {
    /// The body in a content coding. Data is coded at once; all else while it is sent, on a task of its own, so that its
    /// length is not known before. It can be sent again if the body can.
    func compressed(by coding: RequestCompressor.Coding) throws -> TransportBody {
        switch self {
        case .none: return .none
        case .data(let data):
            var compressed = Data()
            try data.withUnsafeBytes {
                try ContentEncoder(coding).encode($0, isLast: true) { compressed.append(contentsOf: $0) }
            }
            return .data(compressed)
        case .file, .stream:
            let pieces = CompressedPieces(body: self, coding: coding)
            return isReplayable ? .sequence { pieces } : .sequence(pieces)
        }
    }
}

/// What becomes of a body in a content coding, in pieces; the body is opened for each iteration.
private struct CompressedPieces: AsyncSequence, Sendable {
    let body: TransportBody
    let coding: RequestCompressor.Coding

    struct AsyncIterator: AsyncIteratorProtocol {
        private enum Progress {
            case atBeginning(CompressedPieces)
            case underWay(BodyReader, ContentEncoder)
            case over
        }

        private var progress: Progress
        private var buffer = [UInt8](repeating: 0, count: 64 * 1_024)

        init(_ pieces: CompressedPieces) {
            progress = .atBeginning(pieces)
        }

        mutating func next() async throws -> Data? {
            var compressed = Data()
            while compressed.isEmpty {
                switch progress {
                case .atBeginning(let pieces):
                    progress = .underWay(BodyReader(pieces.body), try ContentEncoder(pieces.coding))
                case .underWay(let reader, let encoder):
                    let count = try await reader.read(into: &buffer)
                    if count == 0 { progress = .over }
                    try buffer.withUnsafeBytes { bytes in
                        try encoder.encode(UnsafeRawBufferPointer(rebasing: bytes[..<count]), isLast: count == 0) {
                            compressed.append(contentsOf: $0)
                        }
                    }
                case .over:
                    return nil
                }
            }
            return compressed
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}
