#if Foundation || canImport(Darwin)
    extension RequestContent {
        /// Returns content from the bytes of a Foundation stream. The content can be sent only once. A separate thread
        /// reads the stream while the body is sent.
        public static func inputStream(_ stream: sending InputStream, length: UInt64? = nil) -> RequestContent {
            .body(.inputStream(stream, length: length))
        }

        /// Returns content from the bytes of a Foundation stream. The closure creates a stream each time the body is
        /// sent.
        public static func inputStream(
            length: UInt64? = nil, _ make: @escaping @Sendable () throws -> InputStream?
        ) -> RequestContent {
            .body(.inputStream(length: length, make))
        }
    }
#endif
