internal import CLarkspur
import LarkspurTransport

/// Where a transfer goes, as libcurl keeps it parsed.
///
/// Given a text, libcurl parses it and writes it anew for every transfer, at a quarter of what it does for a small
/// request. So it is given the origin, which seldom changes, and apart from it the target, which it sends as it is.
struct CurlURL: ~Copyable {
    let handle: UnsafeMutableRawPointer
    private var origin = ""

    /// Nil if libcurl has no memory left.
    init?() {
        guard let handle = clarkspur_url_open() else { return nil }
        self.handle = handle
    }

    deinit {
        clarkspur_url_close(handle)
    }

    /// False if libcurl refuses the URL.
    mutating func set(_ url: RequestURL) -> Bool {
        guard !url.hasOrigin(origin) else { return true }
        let isAccepted = (url.originText + "/").withCString { clarkspur_url_set(handle, $0) }
        origin = isAccepted ? String(url.originText) : ""
        return isAccepted
    }
}
