/// An interceptor that compresses request bodies, for servers that are known to accept compressed bodies.
///
///     let session = Session(interceptor: .compressing(.gzip, from: 4_096))
///
/// A body in memory is compressed before it is sent. If the compressed form is not smaller, the original body is sent.
/// Files and streams are compressed while they are sent, in bounded memory. Their compressed length is not known in
/// advance, so they are sent in chunks. The upload progress counts compressed bytes. If a body can be sent twice, its
/// compressed form can be sent twice, too.
///
/// A body with trailers is not compressed, because the trailers may be a checksum of the uncompressed bytes.
///
/// In the list of interceptors, place the compressor after an adapter that creates the body, and before an adapter that
/// signs the body.
public struct RequestCompressor: RequestInterceptor {
    /// The content coding of compressed bodies.
    public enum Coding: String, Sendable, CaseIterable {
        /// The gzip format (RFC 1952), which servers support most widely.
        case gzip
        /// The zlib format (RFC 1950), which HTTP calls `deflate`.
        case deflate
    }

    /// How the compressor treats a request that already has a `Content-Encoding`.
    public enum DuplicateHeaderBehavior: Sendable {
        /// Sends the body unchanged, because the field says that the body is already encoded.
        case skip
        /// Fails the request with ``RequestError/Code/encodingFailed``.
        case error
        /// Compresses the body and replaces the field, which is assumed to be wrong.
        case replace
    }

    private let coding: Coding
    private let minimumSize: UInt64
    private let duplicateHeaderBehavior: DuplicateHeaderBehavior
    private let shouldCompress: @Sendable (OutgoingRequest) -> Bool

    /// Creates a compressor.
    ///
    /// - Parameters:
    ///   - coding: The content coding; gzip by default.
    ///   - minimumSize: The length in bytes from which a body is compressed; 1,024 by default. A shorter body fits into
    ///     one network packet even without compression. A body of unknown length is always compressed.
    ///   - duplicateHeaderBehavior: How to treat a request that already has a `Content-Encoding`.
    ///   - shouldCompress: Decides whether a request's body is compressed; ``isWorthwhile(_:)`` by default.
    public init(
        _ coding: Coding = .gzip, from minimumSize: UInt64 = 1_024,
        duplicateHeaderBehavior: DuplicateHeaderBehavior = .skip,
        shouldCompress: @escaping @Sendable (OutgoingRequest) -> Bool = { RequestCompressor.isWorthwhile($0) }
    ) {
        self.coding = coding
        self.minimumSize = minimumSize
        self.duplicateHeaderBehavior = duplicateHeaderBehavior
        self.shouldCompress = shouldCompress
    }

    public func adapt(_ request: inout OutgoingRequest, using state: RequestAdapterState) async throws {
        guard request.body.length ?? .max >= max(1, minimumSize), ContentEncoder.isAvailable, shouldCompress(request)
        else { return }
        if request.body.hasTrailers { return }  // they may describe the uncompressed bytes
        if !ContentCoding.names(in: request.headers.values(for: "Content-Encoding")).isEmpty {
            switch duplicateHeaderBehavior {
            case .skip: return
            case .replace: break
            case .error:
                throw RequestError(
                    .encodingFailed,
                    "the body was to be compressed, but the request has a Content-Encoding already; if that is meant, set "
                        + "the compressor's duplicateHeaderBehavior")
            }
        }
        let compressed = try request.body.compressed(by: coding)
        if case .data(let data) = compressed, let length = request.body.length, data.count >= length { return }
        request.body = compressed
        request.headers.update(.contentEncoding(coding.rawValue))
        request.headers.remove(name: "Content-Length")  // the length of the uncompressed body
    }

    /// Retries nothing.
    public func retry(_ request: any Request, for session: Session, dueTo error: RequestError) async -> RetryResult {
        .doNotRetry
    }
}

extension RequestCompressor {
    /// Returns whether compression usually makes a body of the request's `Content-Type` smaller.
    ///
    /// Returns false for pictures, audio, video, archives and office documents, because these formats are compressed
    /// already. Also returns false for multipart forms, because most of their parts have such formats.
    public static func isWorthwhile(_ request: OutgoingRequest) -> Bool {
        guard let type = request.headers["Content-Type"]?.essence else { return true }
        let sides = type.split(separator: "/", maxSplits: 1)
        guard sides.count == 2 else { return true }
        let (kind, subtype) = (sides[0], sides[1])
        if ["image", "audio", "video"].contains(kind) { return uncompressedMedia.contains(type) }
        return kind != "multipart" && !compressedSubtypes.contains(String(subtype)) && !subtype.hasSuffix("+zip")
            && !subtype.hasPrefix("vnd.openxmlformats") && !subtype.hasPrefix("vnd.oasis.opendocument")
    }

    private static let uncompressedMedia: Set = ["image/svg+xml", "image/bmp", "audio/wav"]

    private static let compressedSubtypes: Set = [
        "zip", "x-zip-compressed", "gzip", "x-gzip", "zstd", "x-bzip2", "x-xz", "x-7z-compressed", "vnd.rar",
        "java-archive", "vnd.android.package-archive", "x-apple-diskimage", "vnd.debian.binary-package", "x-rpm", "pdf",
        "woff", "woff2",
    ]
}

extension RequestAdapter where Self == RequestCompressor {
    /// Returns an adapter that compresses bodies of at least `minimumSize` bytes, except in formats that are compressed
    /// already; see ``RequestCompressor``.
    public static func compressing(_ coding: RequestCompressor.Coding, from minimumSize: UInt64 = 1_024) -> Self {
        RequestCompressor(coding, from: minimumSize)
    }
}
