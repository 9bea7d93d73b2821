import Larkspur
import LarkspurInsight

/// The entries of a cassette, and which of them have been played.
struct CassetteDeck {
    enum Choice {
        /// The entry with this number answers.
        case play(Int, HARArchive.Entry)
        /// An entry may match, depending on the body of the request, which has not been read.
        case readBody
        /// No entry matches, for this reason.
        case unknown(String)

        var isPlayed: Bool { if case .play = self { true } else { false } }
        var reason: String { if case .unknown(let reason) = self { reason } else { "the body was not read" } }
    }

    /// The method and the URL without secrets.
    private struct Key: Hashable {
        let method: String
        let url: CassetteURL
    }

    private static let candidateLimit = 3

    let entries: [HARArchive.Entry]
    private let matching: Cassette.Matching
    private let redaction: Redaction
    private let order: Cassette.Order
    private let repeats: Bool
    private let keys: [Key]
    /// The URLs of the entries, with the secrets that the archive has.
    private let exactURLs: [CassetteURL]
    /// The numbers of the entries with each key, in order.
    private let numbers: [Key: [Int]]
    private var isPlayed: [Bool]
    /// The number of the next entry, if entries answer in order.
    private var next = 0
    private(set) var playCount = 0

    init(
        _ archive: HARArchive, _ matching: Cassette.Matching, _ redaction: Redaction, order: Cassette.Order,
        repeats: Bool
    ) {
        (self.matching, self.redaction, self.order, self.repeats) = (matching, redaction, order, repeats)
        entries = archive.entries
        keys = entries.map {
            Key(method: $0.request.method, url: CassetteURL($0.request.url, matching, without: redaction))
        }
        exactURLs = entries.map { CassetteURL($0.request.url, matching, without: nil) }
        numbers = Dictionary(grouping: keys.indices, by: { [keys] in keys[$0] })
        isPlayed = Array(repeating: false, count: entries.count)
    }

    var unplayed: [HARArchive.Entry] { zip(entries, isPlayed).filter { !$1 }.map(\.0) }

    /// Returns the entry for a request. Calls the user's closure, so the caller holds no lock.
    func choice(for request: CassetteRequest) -> Choice {
        let extended = redaction.hiding(request.secrets)
        let keys = keys(of: request, extended)
        let candidates = candidates(for: keys)
        if matching.readsBodies, request.body == nil, !candidates.isEmpty { return .readBody }
        // Of several entries that differ in secrets alone, the one with the request's own secrets comes first.
        let exact = CassetteURL(request.url.text, matching, without: nil)
        func fits(_ number: Int) -> Bool { matching.difference(request, entries[number].request, extended) == nil }
        let chosen = candidates.first { exactURLs[$0] == exact && fits($0) } ?? candidates.first(where: fits)
        return chosen.map { .play($0, entries[$0]) } ?? .unknown(reason(for: request, keys, extended))
    }

    /// Returns the keys under which the archive may have a request. An archive that was recorded elsewhere may have the
    /// secrets that only the request marks.
    private func keys(of request: CassetteRequest, _ extended: Redaction) -> [Key] {
        let rules = request.secrets.isEmpty ? [redaction] : [redaction, extended]
        return rules.map {
            Key(method: request.method, url: CassetteURL(request.url.text, matching, without: $0))
        }
    }

    /// Returns whether an entry has been played.
    func hasPlayed(_ number: Int) -> Bool { isPlayed[number] }

    /// Counts an entry as played. Returns false if another request has taken it since it was chosen.
    ///
    /// - Parameter again: Whether the entry had been played when it was chosen.
    mutating func take(_ number: Int, again: Bool) -> Bool {
        let isNext = order == .any || number == next || next == keys.count
        guard isNext, again == isPlayed[number] else { return false }
        isPlayed[number] = true
        playCount += 1
        next = max(next, number + 1)
        return true
    }

    /// Returns the numbers of the entries that may answer, before fields and bodies are compared.
    private func candidates(for wanted: [Key]) -> [Int] {
        if order == .recorded, keys.indices.contains(next) { return wanted.contains(keys[next]) ? [next] : [] }
        let all = Set(wanted).flatMap { numbers[$0] ?? [] }.sorted()
        if order == .recorded { return repeats ? all.suffix(1) : [] }
        let open = all.filter { !isPlayed[$0] }
        return open.isEmpty && repeats ? all.suffix(1) : open
    }

    // MARK: The reason why no entry matches

    private func reason(for request: CassetteRequest, _ wanted: [Key], _ redaction: Redaction) -> String {
        let asked = "\(request.method) \(redaction.url(request.url))"
        if entries.isEmpty { return "the cassette has no entries; the request was \(asked)" }
        if case .recorded = order, keys.indices.contains(next) {
            return
                "the request is not the next one of the cassette: expected \(line(next, for: request, wanted, redaction)); the "
                + "request was \(asked)"
        }
        let nearest = keys.indices.map { (number: $0, distance: distance(wanted[0], keys[$0])) }
            .sorted { ($0.distance, $0.number) < ($1.distance, $1.number) }
            .prefix(Self.candidateLimit).map { line($0.number, for: request, wanted, redaction) }
        return "the cassette has no entry for \(asked); the nearest are \(nearest.joined(separator: "; "))"
    }

    private func line(
        _ number: Int, for request: CassetteRequest, _ wanted: [Key], _ redaction: Redaction
    ) -> String {
        let entry = entries[number]
        var remarks: [String] = []
        if wanted.contains(keys[number]) {
            if let difference = matching.difference(request, entry.request, redaction) { remarks.append(difference) }
        }
        if isPlayed[number] { remarks.append("already played") }
        let remark = remarks.isEmpty ? "" : " (\(remarks.joined(separator: ", ")))"
        return "\(number): \(entry.request.method) \(Self.shown(entry.request.url, redaction))\(remark)"
    }

    private static func shown(_ url: String, _ redaction: Redaction) -> String {
        (try? RequestURL(url)).map { redaction.url($0) } ?? "a URL that is not valid"
    }

    /// Returns how different two keys are: the smaller, the nearer.
    private func distance(_ a: Key, _ b: Key) -> Int {
        var distance = 0
        if a.url.path != b.url.path {
            let common = zip(a.url.path.utf8, b.url.path.utf8).prefix { $0 == $1 }.count
            distance += 1_000 + max(a.url.path.utf8.count, b.url.path.utf8.count) - common
        }
        if a.url.origin != b.url.origin { distance += 500 }
        if a.method != b.method { distance += 250 }
        return distance + Set(a.url.items).symmetricDifference(b.url.items).count
    }
}
