import Larkspur

/// A picture of the requests of an archive: one HTML file that a browser opens without a network.
///
///     let archive = try HARArchive(contentsOf: file)
///     try Waterfall(archive).write(to: page)
///
/// The page has a row for each entry, with a bar by phases. Hops of one request are joined. The page filters, sorts and
/// zooms, and shows fields and the beginnings of bodies. Its content is limited, so that a browser opens the page of a
/// large archive without delay; the page says so where it leaves out rows, messages or parts of bodies.
///
/// The archive can hold hostile text. The page shows it as text, and its content security policy forbids other scripts
/// and all connections. Secrets are those of the archive: ``HARRecorder`` and ``WaterfallRecorder`` redact, browsers do
/// not.
public struct Waterfall: Sendable {
    /// The title of the page.
    public var title: String
    /// The maximum number of rows; 20,000 by default. The page of a larger archive has the earliest entries.
    public var rowLimit = 20_000
    /// The maximum number of bytes of each body that the page shows; 4 KiB by default. All bodies together have at most
    /// 16 MiB.
    public var bodyLimit = 4 << 10
    /// The entries of the page.
    private let entries: [HARArchive.Entry]
    /// The number of the last entries that have not ended.
    private let pending: Int

    /// Creates the picture of an archive.
    public init(_ archive: HARArchive, title: String = "Requests") {
        self.init(archive.entries, pending: 0, title: title)
    }

    init(_ entries: [HARArchive.Entry], pending: Int, title: String) {
        (self.entries, self.pending, self.title) = (entries, pending, title)
    }

    /// The page.
    public var html: String { String(decoding: bytes, as: UTF8.self) }

    /// Writes the page to a file. An existing file is replaced.
    ///
    /// - Throws: `RequestError` with the code `.fileUnwritable`.
    public func write(to file: URL) throws(RequestError) {
        do { try Data(bytes).write(to: file, options: .atomic) } catch {
            throw RequestError(.fileUnwritable, "the page \(file.path) cannot be written: \(error)", underlying: error)
        }
    }

    private var bytes: [UInt8] {
        let firstPending = entries.count - pending
        // Entries with equal dates stay in their order.
        let order = entries.indices.sorted {
            (entries[$0].startedAt, $0) < (entries[$1].startedAt, $1)
        }
        let shown = order.prefix(max(0, rowLimit))
        var data = WaterfallData(start: order.first.map { entries[$0].startedAt }, bodyLimit: max(0, bodyLimit))
        var groups = WaterfallGroups()
        for index in shown {
            guard data.hasRoom else { break }
            data.add(entries[index], group: groups.group(of: entries[index]), isPending: index >= firstPending)
        }
        return WaterfallPage.bytes(title: title, data: data, total: entries.count)
    }
}
