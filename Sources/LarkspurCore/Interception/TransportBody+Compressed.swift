extension TransportBody {
    /// Returns the body compressed with a content coding. Data is compressed before this method returns. Files and
    /// streams are compressed on a task while the request sends them, so the compressed length is not known in advance.
    /// The compressed body can be sent again if the original body can.
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
            return .pumped(nil, isReplayable: isReplayable) { pipe in
                let (reader, encoder) = (BodyReader(self), try ContentEncoder(coding))
                var buffer = [UInt8](repeating: 0, count: 64 * 1_024)
                var count = 0
                repeat {
                    var compressed = Data()
                    count = try await reader.read(into: &buffer)
                    try buffer.withUnsafeBytes {
                        let bytes = UnsafeRawBufferPointer(rebasing: $0[..<count])
                        try encoder.encode(bytes, isLast: count == 0) { compressed.append(contentsOf: $0) }
                    }
                    guard await pipe.writeAll(compressed) else { return }
                } while count > 0
            }
        }
    }
}
