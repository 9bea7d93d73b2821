extension TransportBody {
    /// A body of a file, read from disk while it is sent.
    ///
    /// Length and version of the file are noted now. If it is another one when it is sent (grown, cut, written to,
    /// replaced), the request fails with `.bodyFailed`. Throws `.invalidFileURL`, `.fileMissing`, `.fileIsDirectory`,
    /// `.fileNotRegular` or `.fileUnreadable`.
    public static func file(_ url: URL) throws(RequestError) -> TransportBody {
        try ReadableFile.open(url).body()
    }
}
