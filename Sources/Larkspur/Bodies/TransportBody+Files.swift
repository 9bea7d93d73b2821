extension TransportBody {
    /// Returns a body that is read from a file while it is sent.
    ///
    /// The file's length and version are recorded now. If the file has changed until it is sent, the request fails with
    /// `.bodyFailed`. Throws `.invalidFileURL`, `.fileMissing`, `.fileIsDirectory`, `.fileNotRegular` or
    /// `.fileUnreadable`.
    public static func file(_ url: URL) throws(RequestError) -> TransportBody {
        try ReadableFile.open(url).body()
    }
}
