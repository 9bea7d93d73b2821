import Foundation
import Larkspur
import LarkspurInsight

/// The archive and the page that a command line asks for.
struct Recording {
    private let archive: HARRecorder?
    private let waterfall: WaterfallRecorder?
    private let page: String?

    init(_ settings: Settings) throws {
        archive = settings.archive.map { HARRecorder(to: URL(fileURLWithPath: $0)) }
        page = settings.waterfall
        // With --repeat, the page has the last requests.
        waterfall = page.map { _ in WaterfallRecorder() }
    }

    var monitors: [any EventMonitor] {
        let all: [(any EventMonitor)?] = [archive, waterfall]
        return all.compactMap(\.self)
    }

    /// Completes the archive, and writes the page.
    func finish(_ url: RequestURL) async throws {
        try await archive?.finish()
        if let waterfall, let page {
            let title = Redaction.standard.url(url)
            try await waterfall.waterfall(title: title).write(to: URL(fileURLWithPath: page))
        }
    }

    /// Draws an archive, of lark or of a browser, as a page beside it.
    static func draw(_ archive: String, _ page: String?) throws {
        let source = URL(fileURLWithPath: archive)
        let target =
            page.map { URL(fileURLWithPath: $0) } ?? source.deletingPathExtension().appendingPathExtension("html")
        do {
            try Waterfall(try HARArchive(contentsOf: source), title: source.lastPathComponent).write(to: target)
        } catch {
            throw Exit(.file, "\(archive) cannot be drawn: \(error.message)")
        }
        try Terminal.error.write("saved \(SafeText.line(target.lastPathComponent))\n")
    }
}
