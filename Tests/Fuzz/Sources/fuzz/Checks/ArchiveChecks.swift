import Foundation
import Larkspur
import LarkspurInsight
import LarkspurTesting

/// Checks that an archive can be written and reads the same, and that a cassette plays each of its entries to the end.
func checkArchive(_ bytes: [UInt8]) throws {
    guard let archive = try? HARArchive(data: Data(bytes)) else { return }
    // Writing rounds dates to milliseconds, so the first archive may differ from the written one.
    let written = try HARArchive(data: archive.data)
    try require(written.entries.count == archive.entries.count, "every entry is written")
    try require(HARArchive(data: written.data) == written, "what is written reads the same")
    let cassette = Cassette(archive)
    for entry in archive.entries.prefix(8) {
        guard let url = try? RequestURL(verbatim: entry.request.url), url.isHTTP else { continue }
        try checkPlaying(TransportRequest(method: entry.request.method, url: url), by: cassette)
    }
}

private func checkPlaying(_ request: TransportRequest, by cassette: Cassette) throws {
    let hop = PlayedHop()
    cassette.task(for: request, id: TransportTaskID(1), delegate: hop).resume()
    let names = hop.names.withLock { $0 }
    try require(names.last == "completed", "an entry is played to its end")
    try require(names.filter { $0 == "completed" }.count == 1, "a hop ends once")
    try require(
        hop.head.withLock { $0 }.allSatisfy { !$0.name.utf8.breaksLines && !$0.value.utf8.breaksLines },
        "a field is one line")
}

/// A delegate that keeps the names of events, and the fields of the head.
private final class PlayedHop: TransportDelegate {
    let names = Locked<[String]>([])
    let head = Locked<[HTTPHeader]>([])

    func received(_ event: TransportEvent, for task: TransportTaskID) {
        switch event {
        case .head(let head): self.head.withLock { $0 = head.fields }
        case .completed: names.withLock { $0.append("completed") }
        default: names.withLock { $0.append("other") }
        }
    }

    func answer(_ question: TransportQuestion, for task: TransportTaskID) {}
}
