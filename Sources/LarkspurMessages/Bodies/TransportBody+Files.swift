extension TransportBody {
    /// Returns a body that is read from a file while it is sent.
    ///
    /// The method records the file's length and version. If the file changes before it is sent, the request fails with
    /// `.bodyFailed`. The method throws `.invalidFileURL`, `.fileMissing`, `.fileIsDirectory`, `.fileNotRegular` or
    /// `.fileUnreadable`.
    public static func file(_ url: URL) throws(RequestError) -> TransportBody {
        try ReadableFile.open(url).body()
    }
}
