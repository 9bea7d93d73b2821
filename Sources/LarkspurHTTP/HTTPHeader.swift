/// A header field: name and value as they go over the wire.
public struct HTTPHeader: Sendable {
    /// The name as written. Comparisons ignore case.
    public var name: String
    /// The value, without line ends.
    public var value: String
    /// Whether the value is a secret, whatever the name is.
    ///
    /// Descriptions, logs and cURL commands hide a secret value. After a redirect to another origin, the field is not
    /// sent. Copies of the field are secret too: in other headers, in adapted and redirected requests, and in the
    /// transport.
    public var isSecret: Bool

    /// Creates a field whose value is hidden only if ``Redaction`` hides fields of this name.
    public init(name: String, value: String) { self.init(name: name, value: value, isSecret: false) }

    /// Creates a field.
    ///
    /// - Parameter isSecret: Whether descriptions hide the value, whatever the name is.
    public init(name: String, value: String, isSecret: Bool) {
        self.name = name
        self.value = value
        self.isSecret = isSecret
    }
}

extension HTTPHeader: Hashable {
    // Two fields are equal if they are sent as the same bytes. `isSecret` is not sent, so it is not compared.
    public static func == (left: HTTPHeader, right: HTTPHeader) -> Bool {
        left.name == right.name && left.value == right.value
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(value)
    }
}

extension HTTPHeader: CustomStringConvertible, CustomReflectable {
    /// The text `name: value`. The value is hidden if the field is secret, or if `Redaction.standard` hides its name.
    public var description: String { "\(name): \(Redaction.standard.value(of: self))" }
    /// Keeps `dump` from showing a value that the description hides.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension [HTTPHeader] {
    /// Returns whether both arrays share the same memory, and therefore have the same fields. Most requests of a
    /// session share the memory of the session's fields.
    package func isIdentical(to other: [HTTPHeader]) -> Bool {
        withUnsafeBufferPointer { mine in
            other.withUnsafeBufferPointer { mine.baseAddress == $0.baseAddress && mine.count == $0.count }
        }
    }
}
