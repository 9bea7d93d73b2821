/// The SHA-256 hash of a certificate's SubjectPublicKeyInfo (RFC 7469).
///
/// Its text is `sha256/` and the hash in Base64. These commands print the pin of a server:
///
///     openssl s_client -connect example.com:443 </dev/null 2>/dev/null | openssl x509 -pubkey -noout \
///       | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64
public struct PublicKeyPin: Hashable, Sendable, CustomStringConvertible {
    private let hash: [UInt8]

    /// Creates a pin from its text, `sha256/` and the Base64 of 32 bytes.
    ///
    /// - Throws: ``RequestError`` with the code `.invalidPin`.
    public init(_ text: String) throws(RequestError) {
        guard text.hasPrefix("sha256/"), let hash = Data(base64Encoded: String(text.dropFirst(7))), hash.count == 32,
            hash.base64EncodedString() == text.dropFirst(7)
        else {
            throw RequestError(
                .invalidPin,
                "the pin \(text.prefix(100).debugDescription) is not valid; write sha256/ and the Base64 text, 44 "
                    + "characters, of a public key's SHA-256 hash")
        }
        self.hash = [UInt8](hash)
    }

    /// Creates the pin of a certificate's public key.
    public init(of certificate: Certificate) {
        var hash = StreamingHash(.sha256)
        certificate.publicKey.withUnsafeBytes { hash.update($0) }
        self.hash = hash.finalize()
    }

    public var description: String { "sha256/" + Data(hash).base64EncodedString() }
}
