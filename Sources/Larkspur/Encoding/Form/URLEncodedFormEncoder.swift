/// Encodes a keyed value as `key=value&…`, as HTML forms and queries have it.
///
/// Keys and elements stand in the order in which the value encodes them. Those of dictionaries and sets, which have no
/// order, are sorted, so that equal parameters make equal forms. A key that is encoded twice is there twice.
///
/// ```swift
/// struct Search: Encodable { let text = "blue jay", tags = ["a", "b"], page = ["size": 20] }
/// try URLEncodedFormEncoder(spaceEncoding: .plusReplaced).encode(Search())
/// // text=blue+jay&tags%5B%5D=a&tags%5B%5D=b&page%5Bsize%5D=20
/// ```
///
/// Numbers have all their digits, URLs are their text, and a `JSON` object is a form with its members in their order.
public struct URLEncodedFormEncoder: Sendable {
    /// What browsers send: spaces as plus signs, and few other characters unescaped.
    public static let webForm = URLEncodedFormEncoder(spaceEncoding: .plusReplaced, allowedCharacters: .webForm)

    /// How many values may be inside one another: encoding recurses, and so many levels fit on a stack of 512 KiB.
    public static let maximumDepth = 64

    /// Whether the keys of every level are sorted; the elements of arrays never are.
    public var alphabetizeKeyValuePairs: Bool
    /// The keys of an array's elements: `key[]` unless told otherwise.
    public var arrayEncoding: ArrayEncoding
    /// How Booleans are written: `1` and `0` unless told otherwise.
    public var boolEncoding: BoolEncoding
    /// How data is written: in Base64 unless told otherwise.
    public var dataEncoding: DataEncoding
    /// How dates are written: as seconds since 1970 unless told otherwise.
    public var dateEncoding: DateEncoding
    /// How each key is spelled: as it is unless told otherwise.
    public var keyEncoding: KeyEncoding
    /// How keys inside one another are joined: `parent[child]` unless told otherwise.
    public var keyPathEncoding: KeyPathEncoding
    /// What becomes of nil: its key is left out unless told otherwise.
    public var nilEncoding: NilEncoding
    /// How spaces are written: `%20` unless told otherwise.
    public var spaceEncoding: SpaceEncoding
    /// What stays as it is: RFC 3986's unreserved characters unless told otherwise.
    public var allowedCharacters: AllowedCharacters

    /// An encoder whose options have their defaults, save those that are given.
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

    /// The form of a value, whose outermost level must have keys.
    public func encode(_ value: some Encodable) throws -> String {
        String(decoding: try bytes(of: value), as: UTF8.self)
    }

    /// The same form as UTF-8.
    // Disfavoured, so that the text is what `let form = try encoder.encode(value)` gives.
    @_disfavoredOverload
    public func encode(_ value: some Encodable) throws -> Data { Data(try bytes(of: value)) }

    private func bytes(of value: some Encodable) throws -> [UInt8] {
        let form = Form(options: self)
        let root = FormNode(form: form)
        try root.set(value)
        if let fault = form.fault { throw fault }
        var writer = FormWriter(options: self)
        try writer.write(root: root)
        return writer.bytes
    }
}
