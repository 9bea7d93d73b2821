internal import CLarkspur

/// Where a transfer goes, as libcurl keeps it parsed.
///
/// Given a text, libcurl parses it and writes it anew for every transfer, at a quarter of what it does for a small
/// request. So it is given the origin, which seldom changes, and apart from it the target, which it sends as it is.
struct CurlURL: ~Copyable {
    let handle: UnsafeMutableRawPointer
    /// The origin, or the whole URL.
    private var text = ""

    /// Nil if libcurl has no memory left.
    init?() {
        guard let handle = clarkspur_url_open() else { return nil }
        self.handle = handle
    }

    deinit {
        clarkspur_url_close(handle)
    }

    /// False if libcurl refuses the URL.
    ///
    /// - Parameter isWhole: Whether libcurl needs more than the origin, for what it computes of it.
    mutating func set(_ url: RequestURL, isWhole: Bool = false) -> Bool {
        guard isWhole || !url.hasOrigin(text) else { return true }
        let origin = url.originText
        let isAccepted = (origin + (isWhole ? url.target : "/")).withCString { clarkspur_url_set(handle, $0) }
        text = isAccepted && !isWhole ? String(origin) : ""
        return isAccepted
    }
}
