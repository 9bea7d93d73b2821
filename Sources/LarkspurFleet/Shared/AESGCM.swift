import Larkspur

#if canImport(CryptoKit)
    import CryptoKit
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// AES-256-GCM (NIST SP 800-38D) with nonces of 12 bytes and tags of 16 bytes, by the system's library.
enum AESGCM {
    static let tagCount = 16

    #if canImport(CryptoKit)
        /// Returns the encrypted bytes and the tag.
        static func seal(_ plain: [UInt8], key: [UInt8], nonce: [UInt8], context: [UInt8]) throws(SealingError)
            -> [UInt8]
        {
            do {
                let box = try AES.GCM.seal(
                    plain, using: SymmetricKey(data: key), nonce: AES.GCM.Nonce(data: nonce), authenticating: context)
                return Array(box.ciphertext) + Array(box.tag)
            } catch { throw SealingError(.unavailable, "CryptoKit could not encrypt the value: \(error)") }
        }

        /// Returns the plain bytes; nil if the key is another one, or if the bytes or the context were changed.
        static func open(_ sealed: [UInt8], key: [UInt8], nonce: [UInt8], context: [UInt8]) throws(SealingError)
            -> [UInt8]?
        {
            do {
                let box = try AES.GCM.SealedBox(
                    nonce: AES.GCM.Nonce(data: nonce), ciphertext: sealed.dropLast(tagCount),
                    tag: sealed.suffix(tagCount))
                return Array(try AES.GCM.open(box, using: SymmetricKey(data: key), authenticating: context))
            } catch { return nil }
        }
    #else
        /// Returns the encrypted bytes and the tag.
        static func seal(_ plain: [UInt8], key: [UInt8], nonce: [UInt8], context: [UInt8]) throws(SealingError)
            -> [UInt8]
        {
            let library = try LibCrypto.shared()
            return try library.withContext { cipher throws(SealingError) in
                var output = [UInt8](repeating: 0, count: plain.count)
                var tag = [UInt8](repeating: 0, count: tagCount)
                var rest = [UInt8](repeating: 0, count: 32)
                var count: Int32 = 0
                let isDone =
                    library.encryptInit(cipher, library.aes256gcm(), nil, key, nonce) == 1
                    && library.encryptUpdate(cipher, nil, &count, context, Int32(context.count)) == 1
                    && library.encryptUpdate(cipher, &output, &count, plain, Int32(plain.count)) == 1
                    && Int(count) == plain.count && library.encryptFinal(cipher, &rest, &count) == 1
                    && library.control(cipher, LibCrypto.getTag, Int32(tagCount), &tag) == 1
                guard isDone else {
                    throw SealingError(.unavailable, "OpenSSL's libcrypto could not encrypt the value")
                }
                return output + tag
            }
        }

        /// Returns the plain bytes; nil if the key is another one, or if the bytes or the context were changed.
        static func open(_ sealed: [UInt8], key: [UInt8], nonce: [UInt8], context: [UInt8]) throws(SealingError)
            -> [UInt8]?
        {
            let library = try LibCrypto.shared()
            return try library.withContext { cipher throws(SealingError) in
                let encrypted = Array(sealed.dropLast(tagCount))
                var tag = Array(sealed.suffix(tagCount))
                var output = [UInt8](repeating: 0, count: encrypted.count)
                var rest = [UInt8](repeating: 0, count: 32)
                var count: Int32 = 0
                let isGenuine =
                    library.decryptInit(cipher, library.aes256gcm(), nil, key, nonce) == 1
                    && library.decryptUpdate(cipher, nil, &count, context, Int32(context.count)) == 1
                    && library.decryptUpdate(cipher, &output, &count, encrypted, Int32(encrypted.count)) == 1
                    && Int(count) == encrypted.count
                    && library.control(cipher, LibCrypto.setTag, Int32(tagCount), &tag) == 1
                    && library.decryptFinal(cipher, &rest, &count) == 1
                return isGenuine ? output : nil
            }
        }
    #endif
}

#if !canImport(CryptoKit)
    /// The functions of OpenSSL's libcrypto (1.1 or 3), found when the library is first needed.
    struct LibCrypto: Sendable {
        typealias Cipher = OpaquePointer
        typealias Init =
            @convention(c) @Sendable (
                Cipher, OpaquePointer?, OpaquePointer?, UnsafePointer<UInt8>?, UnsafePointer<UInt8>?
            ) -> Int32
        typealias Update =
            @convention(c) @Sendable (
                Cipher, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<Int32>, UnsafePointer<UInt8>?, Int32
            ) -> Int32
        typealias Final =
            @convention(c) @Sendable (
                Cipher, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<Int32>
            ) -> Int32
        typealias Control = @convention(c) @Sendable (Cipher, Int32, Int32, UnsafeMutableRawPointer?) -> Int32

        /// `EVP_CTRL_AEAD_GET_TAG` and `EVP_CTRL_AEAD_SET_TAG`, from `openssl/evp.h`.
        static let (getTag, setTag) = (Int32(0x10), Int32(0x11))

        private let create: @convention(c) @Sendable () -> Cipher?
        private let free: @convention(c) @Sendable (Cipher) -> Void
        let aes256gcm: @convention(c) @Sendable () -> OpaquePointer?
        let (encryptInit, decryptInit): (Init, Init)
        let (encryptUpdate, decryptUpdate): (Update, Update)
        let (encryptFinal, decryptFinal): (Final, Final)
        private let contextControl: Control

        private init?(_ library: UnsafeMutableRawPointer) {
            func find<Function>(_ name: String, as _: Function.Type) -> Function? {
                dlsym(library, name).map { unsafeBitCast($0, to: Function.self) }
            }
            guard let create = find("EVP_CIPHER_CTX_new", as: (@convention(c) @Sendable () -> Cipher?).self),
                let free = find("EVP_CIPHER_CTX_free", as: (@convention(c) @Sendable (Cipher) -> Void).self),
                let aes = find("EVP_aes_256_gcm", as: (@convention(c) @Sendable () -> OpaquePointer?).self),
                let encryptInit = find("EVP_EncryptInit_ex", as: Init.self),
                let decryptInit = find("EVP_DecryptInit_ex", as: Init.self),
                let encryptUpdate = find("EVP_EncryptUpdate", as: Update.self),
                let decryptUpdate = find("EVP_DecryptUpdate", as: Update.self),
                let encryptFinal = find("EVP_EncryptFinal_ex", as: Final.self),
                let decryptFinal = find("EVP_DecryptFinal_ex", as: Final.self),
                let control = find("EVP_CIPHER_CTX_ctrl", as: Control.self)
            else { return nil }
            (self.create, self.free, aes256gcm, contextControl) = (create, free, aes, control)
            (self.encryptInit, self.decryptInit) = (encryptInit, decryptInit)
            (self.encryptUpdate, self.decryptUpdate) = (encryptUpdate, decryptUpdate)
            (self.encryptFinal, self.decryptFinal) = (encryptFinal, decryptFinal)
        }

        func control(_ cipher: Cipher, _ command: Int32, _ count: Int32, _ bytes: inout [UInt8]) -> Int32 {
            bytes.withUnsafeMutableBytes { contextControl(cipher, command, count, $0.baseAddress) }
        }

        func withContext<Result>(_ body: (Cipher) throws(SealingError) -> Result) throws(SealingError) -> Result {
            guard let cipher = create() else {
                throw SealingError(.unavailable, "OpenSSL's libcrypto could not allocate memory")
            }
            defer { free(cipher) }
            return try body(cipher)
        }

        private static let loaded: LibCrypto? = ["libcrypto.so.3", "libcrypto.so.1.1"].lazy
            .compactMap { (name: String) in dlopen(name, RTLD_NOW | RTLD_LOCAL) }
            .compactMap { LibCrypto($0) }.first

        /// Returns the library, which is never unloaded.
        static func shared() throws(SealingError) -> LibCrypto {
            guard let loaded else {
                throw SealingError(
                    .unavailable, "OpenSSL's libcrypto could not be loaded; install libcrypto.so.3 (package libssl3)")
            }
            return loaded
        }
    }
#endif
