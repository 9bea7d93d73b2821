/// Compresses the bodies of requests, for servers that are known to take them so.
///
///     let session = Session(interceptor: .compressing(.gzip, from: 4_096))
///
/// Data is compressed at once, and sent as it is if that makes it no smaller. Files and streams are compressed while they
/// are sent, in bounded memory; their length is not known before, so they go in chunks, and their upload progress counts
/// compressed bytes. What can be sent again, can be sent again compressed.
///
/// Set it before an adapter that signs the body, and behind one that makes it.
public struct RequestCompressor: RequestInterceptor {
    /// What bodies are compressed to.
    public enum Coding: String, Sendable, CaseIterable {
        /// The coding that servers know best.
        case gzip
        /// In zlib's format (RFC 1950), which is what the name stands for.
        case deflate
    }

    /// What to do with a request that has a `Content-Encoding` already.
    public enum DuplicateHeaderBehavior: Sendable {
        /// Its body is in that coding, and is sent as it is.
        case skip
        /// The request fails with `.encodingFailed`.
        case error
        /// The field is not to be believed: the body is compressed, and the field replaced.
        case replace
    }

    private let coding: Coding
    private let minimumSize: UInt64
    private let duplicateHeaderBehavior: DuplicateHeaderBehavior
    private let shouldCompress: @Sendable (OutgoingRequest) -> Bool

    /// - Parameters:
    ///   - minimumSize: From how many bytes on a body is compressed: a short one fits a packet anyway. Bodies of unknown
    ///     length count as large.
    ///   - shouldCompress: What it says no to is sent as it is.
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
        request.headers.remove(name: "Content-Length")  // it was the other body's
    }
}

extension RequestCompressor {
    /// Whether bodies of the request's type get smaller as a rule: not pictures, sounds, films, archives and documents, which
    /// are compressed by themselves, and not forms of several parts, which mostly are of those.
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
    /// Compresses bodies of so many bytes and more, where that is worth the while.
    public static func compressing(_ coding: RequestCompressor.Coding, from minimumSize: UInt64 = 1_024) -> Self {
        RequestCompressor(coding, from: minimumSize)
    }
}
