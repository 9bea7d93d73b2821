import Larkspur

/// A secret key with which values are sealed before they are stored: a reader of the store without the key can neither
/// read nor change them.
///
/// A value is encrypted and authenticated by AES-256-GCM, with a new random nonce each time. The libraries of the
/// system do it: CryptoKit on Apple's platforms, and OpenSSL's `libcrypto` elsewhere, which is loaded at the first use.
/// A sealed value belongs to the name under which it is stored: moved to another name, it cannot be opened.
///
/// With random nonces, a key can seal four billion values. Replace it long before: give the new key, and the old one
/// among the keys for reading.
public struct SealingKey: Sendable {
    /// The name of the key, which is stored with each value, without encryption. Each key has a name of its own.
    public let id: String
    let bytes: [UInt8]

    static let byteCount = 32
    private static let mark = Array("LSS1".utf8)
    private static let nonceCount = 12

    /// Creates a key of 32 random bytes, such as those of `openssl rand 32`. A password is not random enough.
    ///
    /// - Throws: `SealingError` with the code `.invalidKey` if the number of bytes is another one, or if the name has
    ///   more than 255 bytes.
    public init(_ bytes: some Sequence<UInt8>, id: String = "") throws(SealingError) {
        let bytes = Array(bytes)
        guard bytes.count == Self.byteCount else {
            throw SealingError(.invalidKey, "a sealing key has 32 bytes; this one has \(bytes.count)")
        }
        guard id.utf8.count <= 255 else {
            throw SealingError(.invalidKey, "the name of a sealing key has at most 255 bytes; this one has more")
        }
        (self.bytes, self.id) = (bytes, id)
    }

    /// Seals a value that is stored under this name.
    func seal(_ value: Data, for name: String) throws(SealingError) -> Data {
        let header = Self.mark + [UInt8(id.utf8.count)] + Array(id.utf8)
        var numbers = SystemRandomNumberGenerator()
        let nonce = (0..<Self.nonceCount).map { _ in UInt8.random(in: 0...255, using: &numbers) }
        let sealed = try AESGCM.seal(Array(value), key: bytes, nonce: nonce, context: header + Array(name.utf8))
        return Data(header + nonce + sealed)
    }

    /// Opens a value that one of the keys has sealed for this name.
    static func open(_ sealed: Data, for name: String, by keys: [SealingKey]) throws(SealingError) -> Data {
        let bytes = Array(sealed)
        guard bytes.starts(with: mark), let idCount = bytes.dropFirst(mark.count).first.map(Int.init),
            bytes.count >= mark.count + 1 + idCount + nonceCount + AESGCM.tagCount
        else { throw SealingError(.damaged, "the stored value \(name) is not sealed, or is cut off") }
        let header = Array(bytes[..<(mark.count + 1 + idCount)])
        let id = String(decoding: header[(mark.count + 1)...], as: UTF8.self)
        let candidates = keys.filter { $0.id == id }
        guard !candidates.isEmpty else {
            throw SealingError(
                .wrongKey, "the stored value \(name) was sealed by a key with another name; add that key")
        }
        let nonce = Array(bytes[header.count..<(header.count + nonceCount)])
        let rest = Array(bytes[(header.count + nonceCount)...])
        for key in candidates {
            let context = header + Array(name.utf8)
            if let value = try AESGCM.open(rest, key: key.bytes, nonce: nonce, context: context) { return Data(value) }
        }
        throw SealingError(
            .wrongKey, "the stored value \(name) was sealed by another key of the same name, or was changed since")
    }
}

extension SealingKey: CustomStringConvertible, CustomReflectable {
    /// A description without the key.
    public var description: String { "SealingKey(\(id))" }
    /// A mirror without children, because the stored properties contain the key.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

/// The reason why a value could not be sealed or opened.
public struct SealingError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of a failure.
    public struct Code: RawRepresentable, Sendable, Hashable {
        public let rawValue: String

        /// Creates a code of your own.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The key has a wrong length.
        public static let invalidKey = Code(rawValue: "invalidKey")
        /// The value was sealed by another key, or was changed after it was sealed.
        public static let wrongKey = Code(rawValue: "wrongKey")
        /// The stored value is not a sealed value.
        public static let damaged = Code(rawValue: "damaged")
        /// OpenSSL's `libcrypto` could not be loaded.
        public static let unavailable = Code(rawValue: "unavailable")
    }

    /// The kind of the failure.
    public let code: Code
    /// A sentence for developers: what has failed and what to do.
    public let message: String

    init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }

    public var description: String { "\(message) (\(code.rawValue))" }
}
