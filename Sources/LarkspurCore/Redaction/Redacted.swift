/// A wrapper that hides its value from `print`, `dump` and `String(reflecting:)`, so that logs do not show secrets.
@propertyWrapper
struct Redacted<Value> {
    var wrappedValue: Value
}

extension Redacted: Sendable where Value: Sendable {}

extension Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var description: String { Redaction.replacement }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
