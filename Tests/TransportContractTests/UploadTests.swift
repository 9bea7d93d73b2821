#if os(Linux)
    import Larkspur
    import TestSupport
    import Testing

    /// Uploads to a server that hashes them, and forms to an independent parser.
    @Suite(
        "Uploads", .limited, .serialized,
        .enabled(if: Environment.port("LARKSPUR_UPLOADS") != nil, "LARKSPUR_UPLOADS names no server"))
    struct UploadTests {
        private struct Digest: Decodable {
            let length: UInt64
            let sha256: String
            let fields: [[String]]
        }

        private struct Form: Decodable {
            struct Part: Decodable {
                let name: String
                let fileName: String?
                let type: String?
                let length: Int
                let sha256: String
            }

            let length: UInt64
            let parts: [Part]
        }

        private let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)

        private func send<Reply: Decodable & Sendable>(
            _ body: TransportBody, to path: String, contentType: String? = nil, as: Reply.Type = Reply.self
        ) async throws -> Reply {
            let port = try #require(Environment.port("LARKSPUR_UPLOADS"))
            var request = OutgoingRequest(
                method: .put, url: try RequestURL("http://127.0.0.1:\(port)\(path)"), body: body)
            request.headers["Content-Type"] = contentType
            return try await Session().request(request).validate().serializingDecodable(Reply.self).value
        }

        // MARK: Bytes

        enum Kind: String, CaseIterable, Codable {
            case data, file, sequence, sequenceOfUnknownLength, inputStream, inputStreamOfUnknownLength, joined
        }

        private func body(_ kind: Kind, _ bytes: [UInt8]) throws -> TransportBody {
            let (data, length) = (Data(bytes), UInt64(bytes.count))
            switch kind {
            case .data: return .data(data)
            case .file: return try .file(file)
            case .sequence: return .sequence(Self.pieces(of: data), length: length)
            case .sequenceOfUnknownLength: return .sequence(Self.pieces(of: data))
            case .inputStream: return .inputStream(InputStream(data: data), length: length)
            case .inputStreamOfUnknownLength: return .inputStream { [file] in InputStream(url: file) }
            case .joined:
                return .joined(bytes.indices.prefix(1).map { _ in .data(data.prefix(1)) } + [.data(data.dropFirst())])
            }
        }

        private static func pieces(of data: Data) -> AsyncStream<Data> {
            AsyncStream { continuation in
                for start in stride(from: 0, to: data.count, by: 10_000) {
                    continuation.yield(data[start..<min(start + 10_000, data.count)])
                }
                continuation.finish()
            }
        }

        /// The digests of `[UInt8].pattern` of these lengths.
        private static let digests = [
            (0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            (1, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"),
            (65_535, "7b036e0d8ea67afa5e68ae1bd8cd5bee5e851e5e95f64f3d1981b780665fa51f"),
            (65_536, "ce73ac87e15087be56cc3454ec328df9d33789d1a97bdc9c72518532d9e18f6f"),
            (65_537, "9a6c80bea63eabc081d0712df21dcd13921e537884994719482dc4d6a5041cde"),
        ]

        @Test("The received body has the length and the SHA-256 of the sent body", arguments: Kind.allCases, digests)
        func whole(kind: Kind, expected: (length: Int, sha256: String)) async throws {
            let bytes = [UInt8].pattern(expected.length)
            try Data(bytes).write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            let body = try body(kind, bytes)
            let digest: Digest = try await send(body, to: "/digest")
            #expect(digest.length == UInt64(expected.length))
            #expect(digest.sha256 == expected.sha256)
            let fields = HTTPHeaders(digest.fields.map { HTTPHeader(name: $0[0], value: $0[1]) })
            #expect(fields["Transfer-Encoding"] == (body.length == nil ? "chunked" : nil))
            #expect(fields["Content-Length"] == body.length.map(String.init))
        }

        // MARK: Memory

        /// Whether a sanitizer runs: its own memory would hide the test's, and it makes the test slow.
        private static let isWatched = dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil
        private static let large: (length: UInt64, sha256: String) =
            isWatched
            ? (64 << 20, "3b6a07d0d404fab4e23b6d34bc6696a6a312dd92821332385e5af7c01c421351")
            : (1 << 30, "49bc20df15e412a64472421e13fe86ff1c5165e18b2afccf160d4dc19fe68a14")

        @Test("Only a small part of a large body is in memory", arguments: [Kind.file, .sequence, .inputStream])
        func large(kind: Kind) async {
            await #expect(processExitsWith: .success) { [kind] in try await UploadTests().sendLarge(kind) }
        }

        private func sendLarge(_ kind: Kind) async throws {
            let length = Self.large.length
            try Data().write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            try #require(truncate(file.path, off_t(length)) == 0)
            let left = Protected(length)
            let zeros = Data(count: 1 << 20)
            let body: TransportBody =
                switch kind {
                case .file: try .file(file)
                case .inputStream: .inputStream(length: length) { [file] in InputStream(url: file) }
                default:
                    .sequence(
                        AsyncStream<Data> {
                            left.withLock { left in
                                if left == 0 { return nil }
                                left -= UInt64(zeros.count)
                                return zeros
                            }
                        }, length: length)
                }
            let before = try Self.peak
            let digest: Digest = try await send(body, to: "/digest")
            #expect(digest.length == length)
            #expect(digest.sha256 == Self.large.sha256)
            // The limit is far below the body's size and far above a buffer's.
            if !Self.isWatched { #expect(try Self.peak - before < 256 << 20) }
        }

        /// The maximum memory of the process so far.
        private static var peak: Int {
            get throws {
                let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
                let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
                return try #require(Int(line.filter(\.isNumber))) * 1_024
            }
        }

        // MARK: Forms

        @Test("An independent parser finds every part of a form unchanged")
        func form() async throws {
            let bytes = [UInt8].pattern(65_537)
            try Data(bytes).write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            var form = MultipartFormData()
            form.append("", name: "empty")
            form.append(file, name: "file", fileName: "a.png")
            for kind in Kind.allCases { form.append(try body(kind, bytes), name: kind.rawValue, mimeType: "x/y") }
            form.append(encoding: [1, 2, 3], name: "json")
            let received: Form = try await send(form.body(), to: "/form", contentType: form.contentType)
            #expect(received.parts.map(\.name) == ["empty", "file"] + Kind.allCases.map(\.rawValue) + ["json"])
            let types = ["image/png"] + Kind.allCases.map { _ in "x/y" } + ["application/json"]
            #expect(received.parts.map(\.type) == [nil] + types)
            #expect(received.parts.first?.sha256 == Self.digests[0].1)
            for part in received.parts.dropFirst().dropLast() {
                #expect(part.length == 65_537)
                #expect(part.sha256 == Self.digests[4].1)
            }
            #expect(received.parts.last?.length == 7)
        }

        @Test("A form without parts, and boundaries of all allowed kinds, are parsed")
        func boundaries() async throws {
            for boundary in ["x", "'()+_,-./:=?", "a b", String(repeating: "9", count: 70)] {
                var form = MultipartFormData(boundary: boundary)
                let empty: Form = try await send(form.body(), to: "/form", contentType: form.contentType)
                #expect(empty.parts.isEmpty)
                form.append("\r\n--\(boundary.dropLast())\r\n\r\n", name: "n")
                let one: Form = try await send(form.body(), to: "/form", contentType: form.contentType)
                #expect(one.parts.map(\.length) == [boundary.count + 7])
                #expect(one.length == form.contentLength)
            }
        }

        @Test("Unusual names of parts and files are preserved")
        func names() async throws {
            let names = [
                "plain", "two words", "\"quoted\"", "a\"b", "a\rb", "a\nb", "a\r\nb", "a\\b", "\\", "a;b",
                "a=b;c=\"d\"", "a%b",
                "100%", "%41", "ä", "日本語.txt", "👩‍👩‍👧", "e\u{301}", "שלום.txt", "\u{202E}txt.exe", "", " leading",
                "trailing ",
                " ", "'", ":", ",", "a/b", "../a", "<b>", "\u{7F}", "\u{1}", "\t", "\u{A0}", "\u{FEFF}", "\u{2028}",
                String(repeating: "long", count: 2_500), String(repeating: "ü\"", count: 1_000),
            ]
            var form = MultipartFormData()
            for name in names { form.append(Data(name.utf8), name: name, fileName: name, mimeType: "a/b") }
            let received: Form = try await send(form.body(), to: "/form", contentType: form.contentType)
            #expect(received.parts.count == names.count)
            for (part, name) in zip(received.parts, names) {
                // A line end in a field's name is sent as browsers send it.
                let lines = name.split(separator: #/\r\n|\r|\n/#, omittingEmptySubsequences: false)
                #expect(
                    part.name.unicodeScalars.elementsEqual(lines.joined(separator: "\r\n").unicodeScalars), "\(name)")
                #expect(part.fileName?.unicodeScalars.elementsEqual(name.unicodeScalars) == true, "\(name)")
                #expect(part.length == name.utf8.count)
            }
        }

        @Test("A form of thousands of files is sent")
        func manyFiles() async throws {
            try Data([UInt8].pattern(65_535)).write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            let count = Self.isWatched ? 100 : 3_000
            var form = MultipartFormData()
            for index in 0..<count { form.append(file, name: "\(index)") }
            let received: Form = try await send(form.body(), to: "/form", contentType: form.contentType)
            #expect(received.parts.map(\.name) == (0..<count).map(String.init))
            #expect(Set(received.parts.map(\.sha256)) == [Self.digests[2].1])
        }
    }
#endif
