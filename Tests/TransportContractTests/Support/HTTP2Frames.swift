#if os(Linux)
    /// HTTP/2 frames as bytes, valid or not: nothing checks what a test writes.
    enum HTTP2 {
        enum Kind: UInt8 {
            case data, headers, priority, reset, settings, push, ping, goAway, windowUpdate, continuation
            case unknown = 0xFA
        }

        static let endStream: UInt8 = 1
        static let endHeaders: UInt8 = 4
        static let acknowledgement: UInt8 = 1

        /// Returns a frame whose head may declare another length than its payload has.
        static func frame(
            _ kind: Kind, flags: UInt8 = 0, stream: UInt32 = 0, length: Int? = nil, _ payload: [UInt8] = []
        ) -> [UInt8] {
            let length = length ?? payload.count
            return [UInt8(length >> 16 & 0xFF), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF), kind.rawValue, flags]
                + number(stream) + payload
        }

        static func number(_ value: UInt32) -> [UInt8] {
            [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
        }

        /// Returns the head of a 200 without fields: one entry of HPACK's static table.
        static func head(of stream: UInt32, ends: Bool = false) -> [UInt8] {
            frame(.headers, flags: endHeaders | (ends ? endStream : 0), stream: stream, [0x88])
        }

        static func body(_ text: String, of stream: UInt32, ends: Bool = true) -> [UInt8] {
            frame(.data, flags: ends ? endStream : 0, stream: stream, Array(text.utf8))
        }
    }

    extension Wire {
        /// Sends what an HTTP/2 client expects first from a server.
        func beginHTTP2() throws {
            try head()
            try body(6)  // the end of the preface: "SM\r\n\r\n"
            try send(HTTP2.frame(.settings) + HTTP2.frame(.settings, flags: HTTP2.acknowledgement))
        }

        /// Reads frames until a request's head has arrived. Returns its stream number.
        func request() throws -> UInt32 {
            while true {
                let head = try take(9)
                let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
                _ = try take(length)
                guard head[3] == HTTP2.Kind.headers.rawValue else { continue }
                return head[5...].reduce(0) { $0 << 8 | UInt32($1) }
            }
        }
    }
#endif
