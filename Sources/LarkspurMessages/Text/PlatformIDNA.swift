internal import CLarkspur

/// The conversion of host names in any script to their ASCII form (IDNA), with the platform's tables.
package enum PlatformIDNA {
    @Sendable package static func ascii(_ host: String) -> String? {
        #if Foundation || canImport(Darwin)
            var components = URLComponents()
            components.scheme = "https"
            components.host = host
            return components.encodedHost
        #else
            return asciiOfLibrary(host)
        #endif
    }

    /// Returns the ASCII form that libidn2 computes; nil if the system does not have the library or the name is not
    /// valid. FoundationEssentials has no tables.
    static func asciiOfLibrary(_ host: String) -> String? {
        guard !host.utf8.contains(0), let name = clarkspur_unicode_ascii_host(host) else { return nil }
        defer { free(name) }
        return String(cString: name)
    }
}

extension String {
    /// The text in Unicode's composed form (NFC).
    package var composed: String {
        #if Foundation || canImport(Darwin)
            precomposedStringWithCanonicalMapping
        #else
            composedByLibrary
        #endif
    }

    /// The text in composed form as libunistring computes it; the unchanged text if the system does not have the
    /// library.
    var composedByLibrary: String {
        if utf8.allSatisfy({ $0 < 0x80 }) { return self }
        var count = 0
        guard !utf8.contains(0), let text = clarkspur_unicode_composed(self, &count) else { return self }
        defer { free(text) }
        return String(decoding: UnsafeRawBufferPointer(start: text, count: count), as: UTF8.self)
    }
}
