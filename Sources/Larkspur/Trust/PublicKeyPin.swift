/// What a peer's public key is known by: the SHA-256 of its SubjectPublicKeyInfo, as RFC 7469 has it.
///
/// It is written `sha256/` and the hash in base64. This prints that of a server:
///
///     openssl s_client -connect example.com:443 </dev/null 2>/dev/null | openssl x509 -pubkey -noout \
///       | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64
public struct PublicKeyPin: Hashable, Sendable, CustomStringConvertible {
    private let hash: [UInt8]

    /// - Throws: `RequestError` with the code `.invalidPin` unless it is `sha256/` and the base64 of 32 bytes.
    public init(_ text: String) throws(RequestError) {
        guard text.hasPrefix("sha256/"), let hash = Data(base64Encoded: String(text.dropFirst(7))), hash.count == 32,
            hash.base64EncodedString() == text.dropFirst(7)
        else {
            throw RequestError(
                .invalidPin, "a pin is sha256/ and the hash of a public key, 32 bytes, in base64; this is none: \(text)"
            )
        }
        self.hash = [UInt8](hash)
    }

    /// The pin of this certificate's key.
    public init(of certificate: Certificate) {
        var hash = StreamingHash(.sha256)
        certificate.publicKey.withUnsafeBytes { hash.update($0) }
        self.hash = hash.finalize()
    }

    public var description: String { "sha256/" + Data(hash).base64EncodedString() }
}
