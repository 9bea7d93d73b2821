#if canImport(CryptoKit)
    import CryptoKit
#else
    internal import CLarkspur
#endif

/// A hash of bytes that arrive in pieces.
///
///     var hash = StreamingHash(.sha256)
///     hash.update(bytes)
///     hash.finalize().hexadecimal
///
/// Uses the system's hash library, which has hardware acceleration. If the library is missing or does not have the
/// algorithm, uses ``SoftwareHash``.
package struct StreamingHash: ~Copyable {
    package enum Algorithm: String, Sendable, CaseIterable {
        // The raw values are the names that OpenSSL uses.
        case md5 = "MD5"
        case sha256 = "SHA256"
        case sha512 = "SHA512"
        case sha512Half = "SHA512-256"
    }

    private var engine: any HashEngine

    package init(_ algorithm: Algorithm) { engine = SystemHash(algorithm) ?? SoftwareHash(algorithm) }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) { engine.update(bytes) }

    package consuming func finalize() -> [UInt8] { engine.finalize() }

    package static func hexadecimal(_ text: String, _ algorithm: Algorithm) -> String {
        var text = text
        var hash = StreamingHash(algorithm)
        text.withUTF8 { hash.update(UnsafeRawBufferPointer($0)) }
        return hash.finalize().hexadecimal
    }
}

/// The implementation of a hash function. `finalize` is called once, after the last `update`.
package protocol HashEngine {
    mutating func update(_ bytes: UnsafeRawBufferPointer)
    mutating func finalize() -> [UInt8]
}

extension [UInt8] {
    /// The bytes as lower-case hexadecimal digits.
    package var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

#if canImport(CryptoKit)
    package struct SystemHash: HashEngine {
        private var function: any HashFunction

        package init?(_ algorithm: StreamingHash.Algorithm) {
            switch algorithm {
            case .md5: function = Insecure.MD5()
            case .sha256: function = SHA256()
            case .sha512: function = SHA512()
            case .sha512Half: return nil
            }
        }

        package mutating func update(_ bytes: UnsafeRawBufferPointer) { function.update(bufferPointer: bytes) }
        package mutating func finalize() -> [UInt8] { function.finalize().withUnsafeBytes { Array($0) } }
    }
#else
    /// A hash function of libcrypto, in the version of the library that libcurl uses.
    package final class SystemHash: HashEngine {
        private let hash: UnsafeMutableRawPointer

        package init?(_ algorithm: StreamingHash.Algorithm) {
            guard let hash = clarkspur_hash_open(algorithm.rawValue) else { return nil }
            self.hash = hash
        }

        deinit { clarkspur_hash_close(hash) }

        package func update(_ bytes: UnsafeRawBufferPointer) {
            let isDone = clarkspur_hash_update(hash, bytes.baseAddress, bytes.count)
            precondition(isDone, "libcrypto failed to hash bytes in memory")
        }

        package func finalize() -> [UInt8] {
            [UInt8](unsafeUninitializedCapacity: Int(clarkspur_hash_longest)) { result, count in
                count = result.baseAddress.map { clarkspur_hash_finish(hash, $0) } ?? 0
                precondition(count > 0, "libcrypto failed to finish a hash")
            }
        }
    }
#endif
