import Larkspur

/// The entries of a page as JSON: a list of rows, and the details of each row.
///
/// The page reads all rows when it opens, and the details of a row when the user selects it. So the details of each row
/// are a JSON document on a separate line.
struct WaterfallData {
    private static let rowBytes = 24 << 20
    private static let bodyBytes = 16 << 20
    private static let detailBytes = 32 << 20
    private static let textLimit = 2 << 10
    private static let fieldLimit = 200
    private static let messageLimit = 100

    let start: Date
    let bodyLimit: Int
    private(set) var rows = WaterfallJSON()
    private(set) var details = WaterfallJSON()
    private(set) var count = 0
    /// The number of bytes of bodies in ``details``.
    private var bodies = 0

    init(start: Date?, bodyLimit: Int) {
        self.start = start ?? Date(timeIntervalSince1970: 0)
        self.bodyLimit = bodyLimit
    }

    var hasRoom: Bool { rows.bytes.count < Self.rowBytes }

    mutating func add(_ entry: HARArchive.Entry, group: Int, isPending: Bool) {
        count += 1
        let start = start  // accessed while `rows` changes
        rows.object { row in
            row.member("start", entry.startedAt.timeIntervalSince(start) * 1_000)
            row.member("time", Self.milliseconds(entry.time))
            row.list("phases", Self.phases(of: entry.timings)) { $0.number($1) }
            row.member("method", entry.request.method, limit: 40)
            row.member("url", entry.request.url, limit: Self.textLimit)
            row.member("status", Double(entry.response.status))
            row.member("type", entry.response.body.mimeType, limit: 100)
            if let size = entry.response.bodySize ?? entry.response.body.size { row.member("size", Double(size)) }
            row.member("request", Double(group))
            if let attempt = entry.attempt { row.member("attempt", Double(attempt)) }
            if let hop = entry.hop { row.member("hop", Double(hop)) }
            row.member("cache", entry.cacheOutcome, limit: 100)
            row.member("error", isPending ? nil : entry.error, limit: Self.textLimit)
            row.member("redirect", entry.response.redirectURL.isEmpty ? nil : entry.response.redirectURL, limit: 2_048)
            if !entry.messages.isEmpty { row.member("messages", Double(entry.messages.count)) }
            if isPending { row.member("pending", 1) }
        }
        var detail = WaterfallJSON()
        detail.raw("{")
        if details.bytes.count < Self.detailBytes { add(entry, to: &detail) } else { detail.member("omitted", 1) }
        detail.raw("}")
        details.line(detail)
    }

    // MARK: Phases

    /// Returns the milliseconds of queue, lookup, connect, TLS, send, wait and receive. An unknown phase is -1.
    static func phases(of timings: HARArchive.Timings) -> [Double] {
        // The archive counts TLS as a part of the connect phase.
        let connect = timings.connect.map { max(.zero, $0 - (timings.tls ?? .zero)) }
        let tls = timings.connect.flatMap { connect in timings.tls.map { min($0, connect) } } ?? timings.tls
        return [timings.blocked, timings.dns, connect, tls, timings.send, timings.wait, timings.receive].map {
            $0.map(milliseconds) ?? -1
        }
    }

    private static func milliseconds(_ time: Duration) -> Double { max(0, time / .milliseconds(1)) }

    // MARK: Details

    private mutating func add(_ entry: HARArchive.Entry, to detail: inout WaterfallJSON) {
        let (request, response) = (entry.request, entry.response)
        detail.member("statusText", response.statusText, limit: 200)
        detail.member("version", response.version.isEmpty ? request.version : response.version, limit: 40)
        detail.member("address", entry.serverAddress, limit: 100)
        detail.member("resource", entry.resourceType, limit: 100)
        fields("requestFields", request.headers, &detail)
        if let body = request.body { add("requestBody", body, &detail) }
        fields("responseFields", response.headers, &detail)
        add("responseBody", response.body, &detail)
        if let trailers = response.trailers { fields("trailers", trailers, &detail) }
        guard !entry.messages.isEmpty else { return }
        detail.list("messages", entry.messages.prefix(Self.messageLimit)) { list, message in
            list.object { item in
                item.member("sent", message.isSent ? 1 : 0)
                item.member("time", message.time.timeIntervalSince(entry.startedAt) * 1_000)
                item.member("size", Double(message.size))
                if let bytes = message.bytes { item.content(bytes.prefix(256), isText: message.isText) }
            }
        }
    }

    private func fields(_ name: StaticString, _ fields: HTTPHeaders, _ detail: inout WaterfallJSON) {
        detail.list(name, Array(fields).prefix(Self.fieldLimit)) { list, field in
            list.list([field.name, field.value]) { $0.string($1, limit: Self.textLimit) }
        }
    }

    private mutating func add(_ name: StaticString, _ body: HARArchive.Body, _ detail: inout WaterfallJSON) {
        let shown = bodies < Self.bodyBytes ? body.bytes?.prefix(bodyLimit) : nil
        bodies += shown?.count ?? 0
        detail.object(name) { item in
            item.member("type", body.mimeType, limit: 200)
            item.member("comment", body.comment, limit: Self.textLimit)
            if let size = body.size ?? body.bytes?.count { item.member("size", Double(size)) }
            guard let bytes = body.bytes, !bytes.isEmpty else { return }
            item.member("recorded", Double(bytes.count))
            if let shown { item.content(shown, isText: true) }
        }
    }
}
