internal import LarkspurBase

/// Hashes of texts, for names that do not show them.
public enum Fingerprint {
    /// Returns the SHA-256 hash of a text as 64 hexadecimal digits.
    public static func sha256(_ text: String) -> String { StreamingHash.hexadecimal(text, .sha256) }
}
