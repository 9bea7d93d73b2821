#if canImport(Darwin)
    internal import Security
#endif

/// A client identity in the form of the platform.
final class PlatformIdentity: Sendable {
    private let identity: ClientIdentity

    #if canImport(Darwin)
        /// The imported identity. It is imported once, because on some systems each import adds to the keychain.
        private let imported = Protected<Result<URLCredential, TransportError>?>(nil)
    #endif

    init(_ identity: ClientIdentity) { self.identity = identity }

    /// The reason why the identity cannot be used; nil if it can.
    var problem: TransportError? {
        #if canImport(Darwin)
            if case .failure(let error) = credential { error } else { nil }
        #else
            TransportError(.unavailable, "URLSession on this platform has no client identities; use CurlTransport")
        #endif
    }

    #if canImport(Darwin)
        var credential: Result<URLCredential, TransportError> {
            imported.withLock { imported in
                if let imported { return imported }
                let result = Result { () throws(TransportError) in try URLCredential(identity) }
                imported = result
                return result
            }
        }
    #endif
}

#if canImport(Darwin)
    extension URLCredential {
        /// Creates a credential from the contents of a PKCS #12 file: the identity, and the other certificates of its
        /// chain.
        fileprivate convenience init(_ identity: ClientIdentity) throws(TransportError) {
            guard case .pkcs12(let bytes) = identity.content else {
                throw Self.problem("URLSession takes client identities in PKCS #12 format only")
            }
            let item = try Self.item(in: bytes, identity.password)
            guard let found = CFDictionaryGetValue(item, Unmanaged.passUnretained(kSecImportItemIdentity).toOpaque())
            else { throw Self.problem("the PKCS #12 file has no private key with its certificate") }
            self.init(
                identity: Unmanaged<SecIdentity>.fromOpaque(found).takeUnretainedValue(),
                certificates: Self.intermediates(of: item), persistence: .none)
        }

        /// Imports the file. Returns the description of its first identity.
        private static func item(in bytes: [UInt8], _ password: String) throws(TransportError) -> CFDictionary {
            var entries: [(key: CFString, value: CFTypeRef)] = []
            if let password = CFString.make(password) { entries.append((kSecImportExportPassphrase, password)) }
            if #available(macOS 15, iOS 18, tvOS 18, watchOS 11, *), let yes = kCFBooleanTrue {
                entries.append((kSecImportToMemoryOnly, yes))
            }
            guard let data = CFDataCreate(nil, bytes, bytes.count), let options = CFDictionary.make(entries) else {
                throw problem("the system has no memory for the PKCS #12 file")
            }
            var items: CFArray?
            switch SecPKCS12Import(data, options, &items) {
            case errSecSuccess: break
            case errSecAuthFailed, errSecPkcs12VerifyFailure:
                throw problem("the password of the PKCS #12 file is wrong")
            case let status: throw problem("the system cannot read the PKCS #12 file (status \(status))")
            }
            guard let items, CFArrayGetCount(items) > 0, let item = CFArrayGetValueAtIndex(items, 0) else {
                throw problem("the PKCS #12 file has no identity")
            }
            return Unmanaged<CFDictionary>.fromOpaque(item).takeUnretainedValue()
        }

        /// Returns the certificates after the client's own. Servers that know only the root need them.
        private static func intermediates(of item: CFDictionary) -> [Any]? {
            let key = Unmanaged.passUnretained(kSecImportItemCertChain).toOpaque()
            guard let found = CFDictionaryGetValue(item, key) else { return nil }
            let chain = Unmanaged<CFArray>.fromOpaque(found).takeUnretainedValue()
            let certificates = (0..<CFArrayGetCount(chain)).dropFirst().compactMap { index in
                CFArrayGetValueAtIndex(chain, index).map {
                    Unmanaged<SecCertificate>.fromOpaque($0).takeUnretainedValue() as Any
                }
            }
            return certificates.isEmpty ? nil : certificates
        }

        private static func problem(_ message: String) -> TransportError {
            TransportError(.invalidIdentity, message, phase: .securing)
        }
    }

    extension CFString {
        static func make(_ text: String) -> CFString? {
            let bytes = Array(text.utf8)
            return CFStringCreateWithBytes(
                nil, bytes, bytes.count, CFStringBuiltInEncodings.UTF8.rawValue, false)
        }
    }

    extension CFDictionary {
        /// Returns a dictionary that retains its keys and values.
        fileprivate static func make(_ entries: [(key: CFString, value: CFTypeRef)]) -> CFDictionary? {
            var keys = entries.map { UnsafeRawPointer?(Unmanaged.passUnretained($0.key).toOpaque()) }
            var values = entries.map { UnsafeRawPointer?(Unmanaged.passUnretained($0.value).toOpaque()) }
            var (keyRules, valueRules) = (kCFTypeDictionaryKeyCallBacks, kCFTypeDictionaryValueCallBacks)
            return withExtendedLifetime(entries) {
                CFDictionaryCreate(nil, &keys, &values, entries.count, &keyRules, &valueRules)
            }
        }
    }
#endif
