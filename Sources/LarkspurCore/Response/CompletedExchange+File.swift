extension CompletedExchange {
    /// Returns the exchange with the file's bytes as its data, for serializers that need them.
    func readingFile() throws(RequestError) -> CompletedExchange {
        guard let fileURL else { return self }
        return with(try Data(of: fileURL))
    }
}
