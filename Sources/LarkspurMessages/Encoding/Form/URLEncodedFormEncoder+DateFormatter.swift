#if Foundation || canImport(Darwin)
    extension URLEncodedFormEncoder.DateEncoding {
        /// Returns a format that uses a formatter. All requests share the formatter, so do not change it after you
        /// create the encoder.
        public static func formatted(_ formatter: DateFormatter) -> Self { .custom { formatter.string(from: $0) } }
    }
#endif
