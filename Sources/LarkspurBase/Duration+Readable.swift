extension Duration {
    /// The duration for a text: rounded to milliseconds, unless it is shorter than ten of them. A measured or random
    /// time otherwise has digits that help no reader, as in `9.989320592999999 seconds`.
    package var readable: Duration {
        guard self >= .milliseconds(10), self < .seconds(1 << 40) else { return self }
        return .milliseconds(Int64((self / .milliseconds(1)).rounded()))
    }
}
