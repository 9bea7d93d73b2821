extension RequestError {
    /// Returns the error for an encoder's failure. The message contains the path of the failed value. It does not
    /// contain the value, which may be a secret.
    static func encoding(_ result: String, _ error: any Error, at path: [any CodingKey] = []) -> RequestError {
        if let error = error as? RequestError { return error }
        var path = path
        let words: String
        if case EncodingError.invalidValue(_, let context) = error {
            // PropertyListEncoder wraps every thrown error in an `EncodingError`, so the message describes the
            // underlying error.
            if let cause = context.underlyingError { return encoding(result, cause, at: context.codingPath) }
            if path.isEmpty { path = context.codingPath }
            words = context.debugDescription
        } else {
            words = "\(error)"
        }
        return RequestError(
            .encodingFailed, "the parameters cannot be encoded as \(result)\(path.errorSuffix): \(words)",
            underlying: error)
    }
}

extension [any CodingKey] {
    /// The coding path as a suffix of a message, such as ` at outer.0.inner`; empty for the outermost value.
    var errorSuffix: String { isEmpty ? "" : " at \(map(\.stringValue).joined(separator: "."))" }
}
