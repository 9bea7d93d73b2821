extension Bool {
    /// Sets the value to true, and returns whether the value was false before.
    mutating func setOnce() -> Bool {
        defer { self = true }
        return !self
    }
}
