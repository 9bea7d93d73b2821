extension Bool {
    /// Sets the value to true; returns whether it was false before.
    mutating func setOnce() -> Bool {
        defer { self = true }
        return !self
    }
}
