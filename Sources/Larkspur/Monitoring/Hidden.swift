/// A value that no description of its owner shows: not by `print`, `dump`, nor `String(reflecting:)`.
@propertyWrapper
struct Hidden<Value> {
    var wrappedValue: Value
}

extension Hidden: Sendable where Value: Sendable {}

extension Hidden: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var description: String { Redaction.replacement }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
