/// How a server wants uploads that survive a lost connection.
public struct ResumableUploadProtocol: Hashable, Sendable, Codable {
    private enum Kind: Hashable, Codable {
        case tus
        case ietf(version: Int)
    }

    private let kind: Kind

    /// tus 1.0, with its extension Creation.
    public static let tus = ResumableUploadProtocol(kind: .tus)

    /// Resumable Uploads for HTTP, a draft of the IETF (draft-ietf-httpbis-resumable-upload).
    public static let ietf = ietf(interopVersion: 8)

    /// A certain version of the draft; those before 5 have other fields.
    ///
    /// The upload is created by an empty POST that says `Upload-Complete: ?0`, which costs a round trip: a server could
    /// tell its URL in an interim response to the first bytes, but interim responses are not seen here.
    public static func ietf(interopVersion: Int) -> ResumableUploadProtocol {
        ResumableUploadProtocol(kind: .ietf(version: interopVersion))
    }
}

// What the two say in fields. All of it is pure: values in, fields out, and heads in, facts out.
extension ResumableUploadProtocol {
    private var isTus: Bool { kind == .tus }

    private func begin(_ headers: HTTPHeaders) -> HTTPHeaders {
        var headers = headers
        switch kind {
        case .tus: headers.update(name: "Tus-Resumable", value: "1.0.0")
        case .ietf(let version): headers.update(name: "Upload-Draft-Interop-Version", value: "\(version)")
        }
        return headers
    }

    func creation(
        _ headers: HTTPHeaders, length: UInt64, metadata: [String: String], file name: String
    ) throws(RequestError) -> HTTPHeaders {
        var headers = begin(headers)
        headers.update(name: "Upload-Length", value: "\(length)")
        guard isTus else {
            guard metadata.isEmpty else {
                throw RequestError(
                    .invalidRequest,
                    "only tus has metadata; here fields such as Content-Disposition say what the file is")
            }
            headers.update(name: "Upload-Complete", value: "?0")
            if headers["Content-Type"] == nil, let type = MIMEType.ofFile(named: name) {
                headers.add(.contentType(type))
            }
            return headers
        }
        if !metadata.isEmpty { headers.update(name: "Upload-Metadata", value: try Self.text(of: metadata)) }
        return headers
    }

    /// The fields of the request that asks how far the upload is.
    func question(_ headers: HTTPHeaders) -> HTTPHeaders {
        var headers = begin(headers)
        headers.remove(name: "Content-Type")
        return headers
    }

    /// The fields of a request that sends bytes from a position on.
    func append(_ headers: HTTPHeaders, at offset: UInt64, isLast: Bool) -> HTTPHeaders {
        var headers = begin(headers)
        headers.update(name: "Upload-Offset", value: "\(offset)")
        headers.update(.contentType(isTus ? "application/offset+octet-stream" : "application/partial-upload"))
        if !isTus { headers.update(name: "Upload-Complete", value: isLast ? "?1" : "?0") }
        return headers
    }

    /// Whether the upload is at its end by this answer of the server, which has so many of its bytes.
    ///
    /// With tus that is so once all bytes are there; the draft has the server say it.
    func isComplete(_ head: ResponseHead, offset: UInt64?, of length: UInt64) -> Bool {
        isTus ? offset == length : head["Upload-Complete"]?.prefix { $0 != ";" } == "?1"
    }

    /// How much the server has after an append that it has accepted; nil if it has to say so, and does not.
    func offset(in head: ResponseHead, afterSendingTo end: UInt64) -> UInt64? {
        if head["Upload-Offset"] == nil, !isTus { return end }
        return head.count("Upload-Offset")
    }

    /// Whether the answer is that of what the file was sent to, and no longer one about the upload.
    func isOfTarget(_ head: ResponseHead) -> Bool { !isTus && isComplete(head, offset: nil, of: 0) }

    private static func text(of metadata: [String: String]) throws(RequestError) -> String {
        var pairs: [String] = []
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            guard !key.isEmpty, key.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ",") }) else {
                throw RequestError(
                    .invalidRequest, "a key of the metadata is empty or not of ASCII, or has a space or comma")
            }
            let encoded = Data(value.utf8).base64EncodedString()
            pairs.append(encoded.isEmpty ? key : "\(key) \(encoded)")
        }
        return pairs.joined(separator: ",")
    }
}

extension ResponseHead {
    /// A field that is a count of bytes; nil if there is none, or it is no plain number.
    func count(_ name: String) -> UInt64? { self[name].flatMap { UInt64(digits: $0.utf8) } }
}
