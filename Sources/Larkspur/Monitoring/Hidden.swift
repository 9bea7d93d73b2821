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

// Records are described without their URLs: such a URL is often all it takes to read or write.
extension DownloadRecord: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "DownloadRecord(\(offset) bytes)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension ResumableUploadRecord: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "ResumableUploadRecord(\(offset) of \(length) bytes)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
