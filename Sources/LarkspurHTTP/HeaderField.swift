/// A header field: name and value as they go over the wire.
public struct HeaderField: Sendable {
    /// The name as written. Comparisons ignore case.
    public var name: String
    /// The value, without line ends.
    public var value: String
    /// A Boolean value that marks the value as a secret, whatever the name.
    ///
    /// Descriptions, logs and cURL commands hide a secret value, and the field does not follow a redirect to another
    /// origin. Copies of the field keep the mark: in other headers, through adapters and redirects, and in the
    /// transport.
    public var isSecret: Bool

    /// Creates a field whose value is hidden only if ``Redaction`` knows the name.
    public init(name: String, value: String) { self.init(name: name, value: value, isSecret: false) }

    /// Creates a field.
    ///
    /// - Parameter isSecret: Whether descriptions hide the value, whatever the name.
    public init(name: String, value: String, isSecret: Bool) {
        self.name = name
        self.value = value
        self.isSecret = isSecret
    }
}

extension HeaderField: Hashable {
    // Two fields are equal if they are the same on the wire.
    public static func == (left: HeaderField, right: HeaderField) -> Bool {
        left.name == right.name && left.value == right.value
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(value)
    }
}

extension HeaderField: CustomStringConvertible, CustomReflectable {
    /// `name: value`. A secret value is hidden, whether the field is marked or `Redaction.standard` knows its name.
    public var description: String { "\(name): \(Redaction.standard.value(of: self))" }
    /// Keeps `dump` from showing what the description hides.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension [HeaderField] {
    /// Returns whether both arrays share the same memory, and so the same fields. Most requests of a session share its
    /// fields.
    package func isIdentical(to other: [HeaderField]) -> Bool {
        withUnsafeBufferPointer { mine in
            other.withUnsafeBufferPointer { mine.baseAddress == $0.baseAddress && mine.count == $0.count }
        }
    }
}
