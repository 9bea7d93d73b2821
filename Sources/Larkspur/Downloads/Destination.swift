/// Where a downloaded file goes.
public struct Destination: Sendable {
    enum Kind: Sendable {
        case file(URL)
        case suggested(in: URL)
        case custom(@concurrent @Sendable (URL, ResponseHead) async throws -> URL)
    }

    let kind: Kind

    /// This file. While it is under way its bytes are beside it, in a hidden file that a later request to the same place
    /// goes on with. A request that is cancelled when the file was just put in its place leaves it there.
    public static func file(_ url: URL) -> Destination { Destination(kind: .file(url)) }

    /// A file in this folder, by the name that the server suggests, else by the last part of the URL. What could lead out of
    /// the folder, hide the file or mislead its reader is taken from the name.
    public static func suggested(in folder: URL) -> Destination { Destination(kind: .suggested(in: folder)) }

    /// The file that the closure names when all bytes are there, in a temporary one that only its owner can read. The closure
    /// does not run on the thread that writes files, so one that takes its time stops no other download.
    public static func custom(
        _ choose: @escaping @concurrent @Sendable (_ temporary: URL, _ head: ResponseHead) async throws -> URL
    ) -> Destination {
        Destination(kind: .custom(choose))
    }

    /// Where the bytes are until the file is whole. For a file that is known before, it is always the same place.
    var partialPath: String {
        get throws(RequestError) {
            switch kind {
            case .file(let url): PartialFile.path(for: try url.filePath)
            case .suggested(let folder): try folder.appendingPathComponent(".\(UUID().uuidString).larkspur").filePath
            case .custom: Self.temporaryPath
            }
        }
    }

    /// Whether the bytes come to where everybody keeps files, and may be read by nobody else meanwhile.
    var isTemporary: Bool {
        if case .custom = kind { true } else { false }
    }

    static var temporaryPath: String {
        FileManager.default.temporaryDirectory.appendingPathComponent("larkspur-\(UUID().uuidString)").path
    }
}

/// The name of a file as a response suggests it.
enum SuggestedName {
    static func of(_ head: ResponseHead, from url: RequestURL) -> String {
        let parameters = head["Content-Disposition"]?.parameters ?? [:]
        let last = url.path.split(separator: "/").last.map { $0.removingPercentEncoding ?? String($0) }
        let candidates = [parameters["filename*"].flatMap(extended), parameters["filename"], last]
        return candidates.lazy.compactMap { $0 }.map(sanitized).first { !$0.isEmpty } ?? "download"
    }

    /// A value with its charset by RFC 8187: `UTF-8''na%C3%AFve.txt`. That is the only charset it still has.
    private static func extended(_ value: String) -> String? {
        let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].lowercased() == "utf-8" else { return nil }
        return parts[2].removingPercentEncoding
    }

    /// One component of a path, visible, of at most 255 bytes.
    static func sanitized(_ name: String) -> String {
        // Scalar by scalar, and the invisible ones go first: a slash with a mark behind it is another character, until it
        // is written to a path. Among the invisible are those that turn the direction of writing, and so an extension.
        let visible = String.UnicodeScalarView(
            name.unicodeScalars.filter { ![.control, .format].contains($0.properties.generalCategory) })
        let last = visible.split(omittingEmptySubsequences: false) { $0 == "/" || $0 == "\\" }.last ?? visible[...]
        // What is cut off may have been all in front of the extension's dot.
        return trimmed(shortened(trimmed(String(last))))
    }

    /// Without dots and spaces at its ends.
    private static func trimmed(_ name: String) -> String {
        func isEdge(_ scalar: Unicode.Scalar) -> Bool { scalar == "." || scalar.properties.isWhitespace }
        var scalars = name.unicodeScalars.drop(while: isEdge)
        while let end = scalars.last, isEdge(end) { scalars.removeLast() }
        return String(scalars)
    }

    private static func shortened(_ name: String) -> String {
        guard name.utf8.count > 255 else { return name }
        let ending = name.lastIndex(of: ".").map { name[$0...] }.flatMap { $0.utf8.count <= 32 ? $0 : nil } ?? ""
        var stem = name.dropLast(ending.count)
        while stem.utf8.count + ending.utf8.count > 255 { stem.removeLast() }
        return String(stem + ending)
    }
}
