extension Bool {
    /// Sets it; true for the first who does.
    mutating func raise() -> Bool {
        defer { self = true }
        return !self
    }
}
