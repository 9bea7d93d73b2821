/// The type of a type-erased response and the duration of its serializer, for monitors.
protocol SerializedBox: AnyObject, Sendable {
    var valueType: any Any.Type { get }
    var duration: Duration { get }
}
