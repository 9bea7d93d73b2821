extension RequestURL {
    /// Returns the URL that a reference means relative to this URL, strictly by RFC 3986, section 5.2. The `Location`
    /// of a redirect is such a reference.
    ///
    /// The reference is normalised like any URL: raw spaces and non-ASCII characters are escaped, control characters
    /// are refused. The result keeps this URL's user and password only if the reference has neither a scheme nor an
    /// authority. After a redirect, another host therefore never receives them. Offsets in errors count from the start
    /// of the reference.
    public func resolving(
        _ reference: String, idna: ((String) -> String?)? = nil
    ) throws(RequestURLError) -> RequestURL {
        // White space at the reference's ends must be checked before joining. White space at its start would be in the
        // middle of the joined text, where the parser does not refuse it.
        try Normaliser.checkEnds(reference)
        if Normaliser.schemeEnd(reference.utf8) != nil {
            return try Self.parse(reference, removesDots: true, idna: idna).hidingQueryItems(secretItems)
        }
        // The joined text is parsed as a whole, so that every check of the parser applies to the result.
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
            // A base such as `g://h` has an empty path, so the reference needs a slash before it.
            return (layout.hasAuthority && directory == 0 ? start + "/" : start, true, true)
        }
    }

    /// The URL with a slash at the end of its path, without query and fragment: `http://h/v1` becomes `http://h/v1/`.
    /// References then resolve below `v1` and do not replace it.
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

    /// Returns the URL with another query. `nil` removes the query; an empty text leaves a question mark without a
    /// query.
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
