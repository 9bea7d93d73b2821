/// The protocol that a server supports for resumable uploads.
public struct ResumableUploadProtocol: Hashable, Sendable, Codable {
    private enum Kind: Hashable, Codable {
        case tus
        case ietf(version: Int)
    }

    private let kind: Kind

    /// The protocol tus 1.0 with its extension Creation.
    public static let tus = ResumableUploadProtocol(kind: .tus)

    /// The latest supported version of the IETF draft Resumable Uploads for HTTP (draft-ietf-httpbis-resumable-upload).
    public static let ietf = ietf(interopVersion: 8)

    /// Returns the protocol of a specific version of the draft. Versions before 5 do not work, because they use other
    /// header fields.
    ///
    /// An empty POST with `Upload-Complete: ?0` creates the upload, which costs one round trip. If its response is lost
    /// after an interim response (104) with the upload's URL, the upload continues there.
    public static func ietf(interopVersion: Int) -> ResumableUploadProtocol {
        ResumableUploadProtocol(kind: .ietf(version: interopVersion))
    }
}

// This extension makes and reads the header fields of both protocols. Its functions have no side effects.
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
                    "only tus supports metadata; describe the file with fields such as Content-Disposition instead")
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

    /// Returns the URL of the upload that a 104 (Upload Resumption Supported) has announced, with the URL of the
    /// request that it answered; nil if there is none.
    func announcedUpload(in response: DataResponse<Data>) -> (location: String, base: RequestURL)? {
        guard !isTus else { return nil }
        for hop in (response.attempts.last?.hops ?? []).reversed() {
            for head in hop.informationalResponses.reversed() where head.status == 104 {
                if let location = head["Location"] { return (location, hop.request.url) }
            }
        }
        return nil
    }

    /// Returns the header fields of the request for the upload's offset.
    func question(_ headers: HTTPHeaders) -> HTTPHeaders {
        var headers = begin(headers)
        headers.remove(name: "Content-Type")
        return headers
    }

    /// Returns the header fields of a request that sends bytes from an offset on.
    func append(_ headers: HTTPHeaders, at offset: UInt64, isLast: Bool) -> HTTPHeaders {
        var headers = begin(headers)
        headers.update(name: "Upload-Offset", value: "\(offset)")
        headers.update(.contentType(isTus ? "application/offset+octet-stream" : "application/partial-upload"))
        if !isTus { headers.update(name: "Upload-Complete", value: isLast ? "?1" : "?0") }
        return headers
    }

    /// Returns whether this response shows that the upload is complete. `offset` is the number of bytes that the server
    /// has.
    ///
    /// With tus, the upload is complete when the server has all bytes. With the draft, a complete upload has
    /// `Upload-Complete: ?1` in the response.
    func isComplete(_ head: ResponseHead, offset: UInt64?, of length: UInt64) -> Bool {
        isTus ? offset == length : head["Upload-Complete"]?.prefix { $0 != ";" } == "?1"
    }

    /// Returns the server's offset after an accepted request that sent the bytes up to `end`. With the draft, a
    /// response without `Upload-Offset` confirms all these bytes. With tus, the response must have the field; the
    /// result is nil if the field is missing or invalid.
    func offset(in head: ResponseHead, afterSendingTo end: UInt64) -> UInt64? {
        if head["Upload-Offset"] == nil, !isTus { return end }
        return head.count("Upload-Offset")
    }

    /// Returns whether the response comes from the resource that processes the complete file. Other responses report
    /// only the upload's state. With tus, all responses do.
    func isOfTarget(_ head: ResponseHead) -> Bool { !isTus && isComplete(head, offset: nil, of: 0) }

    private static func text(of metadata: [String: String]) throws(RequestError) -> String {
        var pairs: [String] = []
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            guard !key.isEmpty, key.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ",") }) else {
                throw RequestError(
                    .invalidRequest,
                    "a key of the metadata is empty, or contains a space, a comma or a character outside ASCII")
            }
            let encoded = Data(value.utf8).base64EncodedString()
            pairs.append(encoded.isEmpty ? key : "\(key) \(encoded)")
        }
        return pairs.joined(separator: ",")
    }
}

extension ResponseHead {
    /// Returns the value of a header field as a count of bytes; nil if the field is missing or is not a plain number.
    func count(_ name: String) -> UInt64? { self[name].flatMap { UInt64(digits: $0.utf8) } }
}
