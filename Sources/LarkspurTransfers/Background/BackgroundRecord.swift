/// The data on disk from which a later run of the program continues a background transfer.
///
/// It has no secrets but those in the URL: header fields with credentials are left out, and come from interceptors when
/// the transfer continues. Only the owner can read the file, because URLs can contain tokens.
struct BackgroundRecord: Codable, Sendable {
    static let version = 1

    enum Kind: Codable, Sendable {
        case download(Download)
        case upload(Upload)
    }

    enum Phase: Codable, Sendable {
        /// Bytes are missing.
        case transferring
        /// The file is complete and is being moved to its destination.
        case placing(Head)
        case finished(Outcome)
    }

    struct Download: Codable, Sendable {
        enum Place: Codable, Sendable, Hashable {
            case file(StoredPath)
            case suggested(folder: StoredPath)
        }

        let place: Place
        let createsFolders: Bool
        let replaces: Bool
        let checksum: Checksum?
    }

    struct Checksum: Codable, Sendable {
        let algorithm: String
        let hexadecimal: String
    }

    struct Upload: Codable, Sendable {
        let file: StoredPath
        let length: UInt64
        let modification: TransportFileVersion.Modification
        let resumable: ResumableUploadProtocol?
        let metadata: [String: String]
        /// The upload on the server, for resumable uploads; nil until the server has created it.
        var created: ResumableUploadRecord?
    }

    struct Field: Codable, Sendable, Hashable {
        let name: String
        let value: String
    }

    struct Head: Codable, Sendable {
        let status: Int
        let version: String
        let fields: [Field]
    }

    enum Outcome: Codable, Sendable {
        case success(Head, file: StoredPath?, body: Data?)
        case failure(code: String, message: String, Head?)
    }

    var version = Self.version
    let id: UUID
    let created: Date
    let tag: String?
    let method: String
    let url: String
    let headers: [Field]
    var kind: Kind
    var isPaused = false
    var phase = Phase.transferring
}

extension BackgroundRecord {
    /// Creates the record of a transfer that has not started.
    init(_ request: OutgoingRequest, kind: Kind, tag: String?, id: UUID = UUID(), at now: Date = Date()) {
        let confidential = request.options.confidentialHeaders
        self.init(
            id: id, created: now, tag: tag, method: request.method.rawValue, url: request.url.withoutUserInfo.text,
            headers: request.headers.compactMap { Field($0, hiding: confidential) }, kind: kind)
    }

    /// The request without the credentials of the call.
    var request: OutgoingRequest {
        get throws(RequestError) {
            do {
                return OutgoingRequest(
                    method: HTTPMethod(rawValue: method), url: try url.asRequestURL(),
                    headers: HTTPHeaders(headers.map { HTTPHeader(name: $0.name, value: $0.value) }))
            } catch {
                throw RequestError(.invalidTransferRecord, "the record of the transfer \(id) has no valid URL")
            }
        }
    }

    var download: Download? {
        if case .download(let download) = kind { download } else { nil }
    }

    var upload: Upload? {
        if case .upload(let upload) = kind { upload } else { nil }
    }

    /// The options of the download while it fetches its file. The file is complete before the rules for its destination
    /// apply.
    var downloadOptions: [DownloadOption] {
        guard let download else { return [] }
        var options: [DownloadOption] = [.removePreviousFile]
        if download.createsFolders { options.append(.createIntermediateDirectories) }
        if let checksum = download.checksum, let algorithm = StreamingHash.Algorithm(name: checksum.algorithm) {
            options.append(.checksum(algorithm, lowercase: checksum.hexadecimal))
        }
        return options
    }
}

extension BackgroundRecord.Field {
    /// Returns nil for a field with a secret.
    init?(_ field: HTTPHeader, hiding confidential: [String] = []) {
        guard !Redaction.standard.hides(field),
            !confidential.contains(where: { HTTPHeaders.areEqual($0, field.name) })
        else { return nil }
        self.init(name: field.name, value: field.value)
    }
}

extension BackgroundRecord.Head {
    init(_ head: ResponseHead) {
        self.init(
            status: head.status, version: head.version,
            fields: head.fields.compactMap { BackgroundRecord.Field($0) })
    }

    var head: ResponseHead {
        ResponseHead(
            status: status, version: version, fields: fields.map { HTTPHeader(name: $0.name, value: $0.value) })
    }
}

extension BackgroundRecord.Download {
    init(_ destination: Destination, _ options: [DownloadOption]) throws(RequestError) {
        switch destination.kind {
        case .file(let url): place = .file(try StoredPath(url))
        case .suggested(let folder): place = .suggested(folder: try StoredPath(folder))
        case .custom:
            throw RequestError(
                .unsupportedInBackground,
                "a closure that names the file is lost when the process ends; use .file or .suggested(in:)")
        }
        createsFolders = options.contains(.createIntermediateDirectories)
        replaces = options.contains(.removePreviousFile)
        if let (algorithm, hexadecimal) = options.checksum {
            try algorithm.check(hexadecimal)
            checksum = BackgroundRecord.Checksum(algorithm: algorithm.name, hexadecimal: hexadecimal)
        } else {
            checksum = nil
        }
    }

    /// The folder of the file.
    var folder: URL {
        switch place {
        case .file(let path): path.url.deletingLastPathComponent()
        case .suggested(let folder): folder.url
        }
    }

    /// Returns the file's place. A suggested name comes from the response, so it is the same in each run.
    func target(of head: ResponseHead, from url: RequestURL) -> URL {
        switch place {
        case .file(let path): path.url
        case .suggested(let folder): folder.url.appendingPathComponent(SuggestedName.of(head, from: url))
        }
    }
}

extension StreamingHash.Algorithm {
    /// The algorithm's name in records, such as `sha256`.
    fileprivate var name: String { rawValue.lowercased() }

    fileprivate init?(name: String) {
        guard let algorithm = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = algorithm
    }
}

/// The absolute path of a file in a record.
///
/// On Apple's platforms a path in the home folder is stored relative to it, because an update of an app may move the
/// app's container.
struct StoredPath: Codable, Sendable, Hashable {
    let path: String

    init(path: String) { self.path = path }

    init(_ url: URL) throws(RequestError) { path = try url.absoluteURL.filePath }

    init(from decoder: any Decoder) throws {
        path = Self.resolved(try decoder.singleValueContainer().decode(String.self), home: Self.home)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Self.stored(path, home: Self.home))
    }

    var url: URL { URL(fileURLWithPath: path) }

    private static var home: String? {
        #if canImport(Darwin)
            NSHomeDirectory()
        #else
            nil
        #endif
    }

    static func stored(_ path: String, home: String?) -> String {
        guard let home, path.hasPrefix(home + "/") else { return path }
        return "~" + path.dropFirst(home.count)
    }

    static func resolved(_ stored: String, home: String?) -> String {
        guard let home, stored.hasPrefix("~/") else { return stored }
        return home + stored.dropFirst()
    }
}
