extension RequestURL {
    /// Returns the URL that a reference, such as a redirect's `Location`, names relative to this URL: RFC 3986 section
    /// 5.2, strictly.
    ///
    /// The reference is normalised like any URL: raw spaces and non-ASCII characters are escaped, control characters
    /// are refused. The result keeps user and password only if the reference names neither scheme nor authority, so a
    /// redirect to another host never receives them. Offsets in errors count from the start of the reference.
    public func resolving(
        _ reference: String, idna: ((String) -> String?)? = nil
    ) throws(RequestURLError) -> RequestURL {
        // Check here: white space at the start of the reference would be in the middle of the joined text, where no
        // check finds it.
        try Normaliser.checkEnds(reference)
        if Normaliser.schemeEnd(reference.utf8) != nil {
            return try Self.parse(reference, removesDots: true, idna: idna).hidingQueryItems(secretItems)
        }
        // Join and parse the whole text again instead of merging parts: the result has passed every check.
        let base = base(for: reference)
        do {
            let joined = try Self.parse(base.text + reference, removesDots: base.removesDots, idna: idna)
            return RequestURL(
                text: joined.text, layout: joined.layout,
                userInfo: base.keepsUserInfo ? userInfo : joined.userInfo, secretItems: secretItems)
        } catch {
            throw RequestURLError(error.reason, at: max(0, error.offset - base.text.utf8.count))
        }
    }

    private func base(for reference: String) -> (text: Substring, removesDots: Bool, keepsUserInfo: Bool) {
        if reference.utf8.starts(with: "//".utf8) { return (slice(0, Int(layout.schemeEnd) + 1), true, false) }
        switch reference.utf8.first {
        case nil, UInt8(ascii: "#"): return (slice(0, Int(layout.fragmentStart)), false, true)
        case UInt8(ascii: "?"): return (slice(0, Int(layout.queryStart)), false, true)
        case UInt8(ascii: "/"): return (slice(0, Int(layout.pathStart)), true, true)
        default:
            let directory = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8[...$0].count } ?? 0
            let start = slice(0, Int(layout.pathStart) + directory)
            // A base like `g://h` has no directory yet.
            return (layout.hasAuthority && directory == 0 ? start + "/" : start, true, true)
        }
    }

    /// The URL as a folder: references resolve below it and not beside it. `http://h/v1` becomes `http://h/v1/`,
    /// without query and fragment.
    package var asFolder: RequestURL {
        get throws(RequestURLError) {
            let slash = path.utf8.last == UInt8(ascii: "/") ? "" : "/"
            let folder = try Self.parse(originText + path + slash, removesDots: true, idna: nil)
            return RequestURL(text: folder.text, layout: folder.layout, userInfo: userInfo)
        }
    }

    /// Returns the URL with `encoded` appended to its query after an ampersand. An empty text changes nothing.
    public func appendingQuery(_ encoded: String) throws(RequestURLError) -> RequestURL {
        guard !encoded.isEmpty else { return self }
        guard let query, !query.isEmpty else { return try replacingQuery(encoded) }
        return try withQuery(encoded, after: Int(layout.fragmentStart), delimiter: "&")
    }

    /// Returns the URL with another query: `nil` removes the query, an empty text leaves a bare question mark.
    ///
    /// `encoded` is already percent-encoded. Characters that a query cannot contain, `#` included, are escaped; control
    /// characters are refused.
    public func replacingQuery(_ encoded: String?) throws(RequestURLError) -> RequestURL {
        try withQuery(encoded, after: Int(layout.queryStart), delimiter: "?")
    }

    private func withQuery(
        _ encoded: String?, after end: Int, delimiter: Unicode.Scalar
    ) throws(RequestURLError) -> RequestURL {
        var output = Array(text.utf8.prefix(end))
        if let encoded {
            let bytes = Array(encoded.utf8)
            try Normaliser.check(bytes)
            output.append(UInt8(ascii: delimiter))
            Percent.append(bytes[...], keeping: .query, to: &output)
        }
        var layout = layout
        layout.fragmentStart = UInt16(truncatingIfNeeded: output.count)
        output += text.utf8.dropFirst(Int(self.layout.fragmentStart))
        guard output.count <= Self.limit else {
            throw RequestURLError(.tooLong, at: encoded?.utf8.count ?? 0)
        }
        return RequestURL(
            text: String(decoding: output, as: UTF8.self), layout: layout, userInfo: userInfo, secretItems: secretItems)
    }
}
