internal import CLarkspur

/// A streaming encoder for a content coding.
final class ContentEncoder {
    private let coder: Coder
    private var piece = [UInt8](repeating: 0, count: 64 * 1_024)

    static var isAvailable: Bool { clarkspur_zlib_encoder() != nil }

    init(_ coding: RequestCompressor.Coding) throws(RequestError) {
        guard let encoder = clarkspur_zlib_encoder(), let coder = Coder(encoder.pointee, format: coding.format) else {
            throw RequestError(.unsupportedCoding, "the body cannot be compressed, because zlib is not installed")
        }
        self.coder = coder
    }

    /// Encodes the next bytes of the body, and passes the encoded bytes to the closure. If `isLast` is true, the body
    /// ends after these bytes.
    func encode(_ bytes: UnsafeRawBufferPointer, isLast: Bool, into take: (ArraySlice<UInt8>) -> Void) throws {
        var rest = bytes
        while true {
            let (count, state) = piece.withUnsafeMutableBytes { coder.run(&rest, into: $0, isLast: isLast) }
            if count > 0 { take(piece[..<count]) }
            switch state {
            case .continues where count == piece.count || !rest.isEmpty: continue
            case .continues, .ended: return
            case .failed(let problem):
                throw RequestError(.encodingFailed, "the body cannot be compressed: \(problem)")
            }
        }
    }
}

extension RequestCompressor.Coding {
    /// The format number for zlib. `deflate` is the zlib format, as RFC 9110 says, although many servers send raw
    /// deflate.
    fileprivate var format: Int {
        switch self {
        case .gzip: clarkspur_format_gzip
        case .deflate: clarkspur_format_zlib
        }
    }
}
