/// The location to which a download writes its file.
public struct Destination: Sendable {
    package enum Kind: Sendable {
        case file(URL)
        case suggested(in: URL)
        case custom(@concurrent @Sendable (URL, ResponseHead) async throws -> URL)
    }

    package let kind: Kind

    /// Downloads to this file. Until the download is complete, its bytes are in a hidden file in the same folder. A
    /// later request can resume from the hidden file.
    ///
    /// If the request is cancelled after the file was moved into place, the file stays.
    public static func file(_ url: URL) -> Destination { Destination(kind: .file(url)) }

    /// Downloads to a file in this folder, named by the server's suggestion or by the last component of the URL.
    ///
    /// The library removes parts of the name that could leave the folder, hide the file or mislead the user.
    public static func suggested(in folder: URL) -> Destination { Destination(kind: .suggested(in: folder)) }

    /// Downloads to a temporary file that only its owner can read, and then moves it to the URL that the closure
    /// returns.
    ///
    /// The closure does not run on the thread that writes files, so a slow closure does not delay other downloads.
    public static func custom(
        _ choose: @escaping @concurrent @Sendable (_ temporary: URL, _ head: ResponseHead) async throws -> URL
    ) -> Destination {
        Destination(kind: .custom(choose))
    }

    /// The path of the partial file. A `.file` destination always has the same partial path, so that a later request
    /// finds the partial file and can resume.
    var partialPath: String {
        get throws(RequestError) {
            switch kind {
            case .file(let url): PartialFile.path(for: try url.filePath)
            case .suggested(let folder): try folder.appendingPathComponent(".\(UUID().uuidString).larkspur").filePath
            case .custom: Self.temporaryPath
            }
        }
    }

    /// Whether the partial file is in the temporary directory, which users may share. Only the owner may read such a
    /// file.
    var isTemporary: Bool {
        if case .custom = kind { true } else { false }
    }

    static var temporaryPath: String {
        FileManager.default.temporaryDirectory.appendingPathComponent("larkspur-\(UUID().uuidString)").path
    }
}

/// The file name that a response suggests.
package enum SuggestedName {
    package static func of(_ head: ResponseHead, from url: RequestURL) -> String {
        let parameters = head["Content-Disposition"]?.parameters ?? [:]
        let last = url.path.split(separator: "/").last.map { $0.percentDecoded ?? String($0) }
        let candidates = [parameters["filename*"]?.extendedValue, parameters["filename"], last]
        return candidates.lazy.compactMap { $0 }.map(sanitized).first { !$0.isEmpty } ?? "download"
    }

    /// Returns the name as one visible path component of at most 255 bytes; empty if no character is left.
    static func sanitized(_ name: String) -> String {
        // The name is split by Unicode scalars: a slash with a combining mark is another `Character`, but still a slash
        // in a path. Invisible scalars are removed first. Some of them reverse the writing direction and can disguise
        // an extension.
        let visible = String.UnicodeScalarView(
            name.unicodeScalars.filter { ![.control, .format].contains($0.properties.generalCategory) })
        let last = visible.split(omittingEmptySubsequences: false) { $0 == "/" || $0 == "\\" }.last ?? visible[...]
        // The name is trimmed again, because shortening may have removed everything before the extension's dot. A
        // leading dot would hide the file.
        return trimmed(shortened(trimmed(String(last))))
    }

    /// Returns the name without dots and white space at its ends.
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
