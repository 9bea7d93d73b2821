internal import CLarkspur

/// The URL of a transfer, parsed by libcurl.
///
/// For every transfer, libcurl parses a URL that is set as text and writes it again. For a small request that is a
/// quarter of libcurl's work. The parsed URL therefore has only the origin, which seldom changes. The target is a
/// separate option, which libcurl sends unchanged.
struct CurlURL: ~Copyable {
    let handle: UnsafeMutableRawPointer
    /// The origin that the handle holds; empty if it holds a whole URL or none.
    private var text = ""

    /// Creates an empty URL. Returns nil if libcurl is out of memory.
    init?() {
        guard let handle = clarkspur_url_open() else { return nil }
        self.handle = handle
    }

    deinit {
        clarkspur_url_close(handle)
    }

    /// Sets the URL. Returns false if libcurl refuses it.
    ///
    /// - Parameter isWhole: Whether libcurl needs the whole URL, because it uses the URL's target.
    mutating func set(_ url: RequestURL, isWhole: Bool = false) -> Bool {
        guard isWhole || !url.hasOrigin(text) else { return true }
        let origin = url.originText
        let isAccepted = (origin + (isWhole ? url.target : "/")).withCString { clarkspur_url_set(handle, $0) }
        text = isAccepted && !isWhole ? String(origin) : ""
        return isAccepted
    }
}
