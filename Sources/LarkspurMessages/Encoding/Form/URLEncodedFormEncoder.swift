/// An encoder that writes a keyed value as `key=value&…`, the format of HTML forms and queries.
///
/// Keys and elements are in the order in which the value encodes them. Keys of dictionaries and elements of sets are
/// sorted, so that equal parameters have equal forms. If a value encodes a key twice, the form contains the key twice.
///
/// ```swift
/// struct Search: Encodable { let text = "blue jay", tags = ["a", "b"], page = ["size": 20] }
/// try URLEncodedFormEncoder(spaceEncoding: .plusReplaced).encode(Search())
/// // text=blue+jay&tags%5B%5D=a&tags%5B%5D=b&page%5Bsize%5D=20
/// ```
///
/// Numbers keep all their digits. A URL is written as its text. A ``JSON`` object keeps the order of its members.
public struct URLEncodedFormEncoder: Sendable {
    /// An encoder that writes forms as browsers do: spaces as plus signs, and the WHATWG's set of unescaped characters.
    public static let webForm = URLEncodedFormEncoder(spaceEncoding: .plusReplaced, allowedCharacters: .webForm)

    /// The maximum nesting depth of values. Encoding is recursive, and 64 levels fit on a stack of 512 KiB.
    public static let maximumDepth = 64

    /// Whether the keys of each level are sorted; false by default. Elements of arrays keep their order.
    public var alphabetizeKeyValuePairs: Bool
    /// The format for the keys of an array's elements; `key[]` by default.
    public var arrayEncoding: ArrayEncoding
    /// The format for Booleans; `1` and `0` by default.
    public var boolEncoding: BoolEncoding
    /// The format for data; Base64 by default.
    public var dataEncoding: DataEncoding
    /// The format for dates; seconds since 1970 by default.
    public var dateEncoding: DateEncoding
    /// The format for single keys; unchanged by default.
    public var keyEncoding: KeyEncoding
    /// The format for nested keys; `parent[child]` by default.
    public var keyPathEncoding: KeyPathEncoding
    /// The format for nil values; by default their keys are left out.
    public var nilEncoding: NilEncoding
    /// The format for spaces; `%20` by default.
    public var spaceEncoding: SpaceEncoding
    /// The characters that are not percent-encoded; RFC 3986's unreserved characters by default.
    public var allowedCharacters: AllowedCharacters

    /// Creates an encoder with these options.
    public init(
        alphabetizeKeyValuePairs: Bool = false, arrayEncoding: ArrayEncoding = .brackets,
        boolEncoding: BoolEncoding = .numeric, dataEncoding: DataEncoding = .base64,
        dateEncoding: DateEncoding = .secondsSince1970, keyEncoding: KeyEncoding = .useDefaultKeys,
        keyPathEncoding: KeyPathEncoding = .brackets, nilEncoding: NilEncoding = .dropKey,
        spaceEncoding: SpaceEncoding = .percentEscaped, allowedCharacters: AllowedCharacters = .unreserved
    ) {
        self.alphabetizeKeyValuePairs = alphabetizeKeyValuePairs
        self.arrayEncoding = arrayEncoding
        self.boolEncoding = boolEncoding
        self.dataEncoding = dataEncoding
        self.dateEncoding = dateEncoding
        self.keyEncoding = keyEncoding
        self.keyPathEncoding = keyPathEncoding
        self.nilEncoding = nilEncoding
        self.spaceEncoding = spaceEncoding
        self.allowedCharacters = allowedCharacters
    }

    /// Returns the value as a form. Throws if the outermost value has no keys, for example if it is an array.
    public func encode(_ value: some Encodable) throws -> String {
        String(decoding: try bytes(of: value), as: UTF8.self)
    }

    /// Returns the value as a form in UTF-8.
    // This overload is disfavoured, so that `let form = try encoder.encode(value)` is a `String`.
    @_disfavoredOverload
    public func encode(_ value: some Encodable) throws -> Data { Data(try bytes(of: value)) }

    /// Returns the text with the escapes of a name or value in the form: those of ``allowedCharacters`` and
    /// ``spaceEncoding``.
    public func escaped(_ text: String) -> String {
        var writer = FormWriter(options: self)
        writer.writeEscaped(text)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private func bytes<Value: Encodable>(of value: Value) throws -> [UInt8] {
        // The comparison of types takes less time than a cast that fails.
        if Value.self == JSON.self, case .object(let members)? = value as? JSON {
            var writer = FormWriter(options: self)
            try writer.write(members)
            return writer.bytes
        }
        let form = Form(options: self)
        let root = FormNode(form: form)
        try root.set(value)
        if let fault = form.fault { throw fault }
        var writer = FormWriter(options: self)
        try writer.write(root: root)
        return writer.bytes
    }
}
