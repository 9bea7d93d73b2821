internal import LarkspurBase

extension Duration {
    /// The duration for a text, rounded to milliseconds unless it is shorter than ten of them.
    public var rounded: Duration { readable }
}
