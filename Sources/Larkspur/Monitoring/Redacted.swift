/// A value that `print`, `dump` and `String(reflecting:)` do not show, so that secrets stay out of logs.
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
