import Larkspur

@testable import LarkspurCore
@testable import LarkspurHTTP
@testable import LarkspurMessages

/// Checks the first three lines of an input: a URL, a reference to resolve against it, and a query for it.
func checkURLs(_ bytes: [UInt8]) throws {
    let lines = bytes.split(separator: 0x0A, maxSplits: 2, omittingEmptySubsequences: false).map {
        String(decoding: $0, as: UTF8.self)
    }
    guard let url = try? RequestURL(lines[0], idna: PlatformIDNA.ascii) else { return }
    try checkURL(url)
    if url.hasAuthority, let folder = try? url.asFolder {
        try checkURL(folder)
        try require(folder.origin == url.origin && folder.path.hasSuffix("/"), "a folder is of its URL's origin")
    }
    if lines.count > 1 { try checkReference(lines[1], against: url) }
    guard lines.count > 2 else { return }
    for changed in [try? url.replacingQuery(lines[2]), try? url.appendingQuery(lines[2])] {
        guard let changed else { continue }
        try checkURL(changed)
        try require(changed.originText == url.originText && changed.path == url.path, "a query changes nothing else")
        let isRestSame = changed.fragment == url.fragment && changed.userInfo == url.userInfo
        try require(isRestSame, "a query changes nothing else")
    }
}

/// Checks that a URL's parts make up its text, and that the text parses to the same parts without repairs.
private func checkURL(_ url: RequestURL) throws {
    try require(url.text.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "a URL is visible ASCII")
    let authority = url.hostHeader.map { "//\($0)" } ?? ""
    let fragment = url.fragment.map { "#\($0)" } ?? ""
    try require("\(url.scheme):\(authority)\(url.target)\(fragment)" == url.text, "parts make up the text")
    try require(url.target == url.path + (url.query.map { "?\($0)" } ?? ""), "path and query make up the target")
    let again = try RequestURL(url.text)
    try require(again == url.withoutUserInfo && parts(of: again) == parts(of: url), "a normal text stays as it is")
    try require(!url.isHTTP || url.host == nil || url.path.first == "/" && url.host != "", "HTTP has a host and a path")
    try require(url.host?.utf8.contains(where: "/?#@\\".utf8.contains) != true, "a host contains no delimiter")
    guard let userInfo = url.userInfo, url.hasAuthority else { return }
    let whole = "\(url.scheme)://\(userInfo)@\(url.text.dropFirst(url.scheme.count + 3))"
    try require(RequestURL(whole) == url, "user and password stay as they are")
}

private func parts(of url: RequestURL) -> [String?] {
    let port = [url.port, url.effectivePort].map { $0?.description }
    return [url.scheme, url.host, url.path, url.query, url.fragment, url.target].map { $0.map(String.init) } + port
}

private func checkReference(_ reference: String, against url: RequestURL) throws {
    guard let resolved = try? url.resolving(reference, idna: PlatformIDNA.ascii) else { return }
    try checkURL(resolved)
    let end = reference.utf8.firstIndex { !$0.isASCIILetter && !$0.isASCIIDigit && !"+-.".utf8.contains($0) }
    if let end, reference.utf8.first?.isASCIILetter == true, reference.utf8[end] == UInt8(ascii: ":") {
        try require(resolved.scheme == reference[..<end].lowercased(), "a reference's own scheme counts")
        return
    }
    try require(resolved.scheme == url.scheme, "a reference without a scheme keeps that of the base")
    if reference.utf8.starts(with: "//".utf8) {
        try require(
            resolved.userInfo == nil || reference.utf8.contains(UInt8(ascii: "@")), "another authority gets no user")
    } else {
        try require(
            resolved.originText == url.originText && resolved.userInfo == url.userInfo,
            "a reference without an authority keeps that of the base")
    }
}
