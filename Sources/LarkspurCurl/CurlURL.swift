internal import CLarkspur

/// The URL of a transfer, parsed by libcurl.
///
/// If a URL is set as text, libcurl parses it for every transfer and writes it again, which is a quarter of libcurl's
/// work for a small request. The handle is therefore parsed once and used for many transfers. It contains only the
/// origin, which seldom changes. The target is a separate option, which libcurl sends unchanged.
struct CurlURL: ~Copyable {
    let handle: UnsafeMutableRawPointer
    /// The origin in the handle; empty if the handle contains a whole URL or no URL.
    private var text = ""

    /// Creates an empty URL. Returns nil if libcurl is out of memory.
    init?() {
        guard let handle = clarkspur_url_open() else { return nil }
        self.handle = handle
    }

    deinit {
        clarkspur_url_close(handle)
    }

    /// Sets the URL. Returns false if libcurl refuses the URL.
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
