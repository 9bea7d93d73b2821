extension Bool {
    /// Sets the value to true, and returns whether the value was false before.
    package mutating func setOnce() -> Bool {
        defer { self = true }
        return !self
    }
}
