internal import CLarkspur

/// The escapes of strings.
enum JSONEscapes {
    /// Writes the text without its escapes, and returns the number of written bytes. The text has been checked by the
    /// parser. The output is never longer than the text.
    static func decode(_ text: UnsafeBufferPointer<UInt8>, into output: UnsafeMutableBufferPointer<UInt8>) -> Int {
        guard let start = text.baseAddress, let target = output.baseAddress else { return 0 }
        return clarkspur_json_unescape(start, text.count, target)
    }
}
