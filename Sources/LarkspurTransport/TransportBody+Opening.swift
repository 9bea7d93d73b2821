extension TransportBody {
    /// Returns a body that is part of a file. The whole file must be unchanged when the body is sent (T24 in
    /// `Transport`).
    package static func file(
        path: String, length: UInt64, version: TransportFileVersion, range: Range<UInt64>
    ) -> TransportBody {
        if range.isEmpty { return .none }
        return .stream(
            TransportBodySource(length: range.upperBound - range.lowerBound, isReplayable: true) {
                TransportFileStream(path: path, length: length, version: version, range: range)
            })
    }

    /// Opens the body as a stream that starts at its first byte.
    package func open() -> any TransportBodyStream {
        switch self {
        case .none: TransportDataStream(Data())
        case .data(let data): TransportDataStream(data)
        case .file(let path, let length, let version): TransportFileStream(path: path, length: length, version: version)
        case .stream(let source): source.open()
        }
    }
}
