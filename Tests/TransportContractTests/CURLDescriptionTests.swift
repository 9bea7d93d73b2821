#if os(Linux)
    import Foundation
    import Larkspur
    import LarkspurTesting
    import TestSupport
    import Testing

    private let curlIsThere = FileManager.default.isExecutableFile(atPath: "/usr/bin/curl")

    /// Compares what Larkspur sends with what curl sends for the command that describes the request.
    @Suite("cURL commands", .limited, .enabled(if: curlIsThere, "curl is not installed"))
    struct CURLDescriptionTests {
        private static func data(_ text: String) -> TransportBody { .data(Data(text.utf8)) }

        // This is computed because the leak sanitizer reports small constant data as lost.
        private static var samples: [TransportBody] {
            [
                .none, data(""), data("plain"),
                data("it's \"quoted\" $HOME `id` \\n %41 & | ; < > * ? [a] {b,c} ! # ~"),
                data("@file"), data("line\nline\n"), data("\r\n"), data("tab\t"), data("'\u{301}; exit 1; '\u{200D}"),
                data("ü 🎉 \u{202E}"), data("\u{1B}[31m"),
                .data(Data((0...255).map { UInt8($0) })), .data(Data(count: 200_000)),
                data(String(repeating: "x'", count: 30_000)),
            ]
        }

        @Test("curl sends what Larkspur sends, byte for byte", arguments: samples.indices)
        func bodies(index: Int) async throws {
            for method in [.post, .put, .delete, "PROPFIND"] as [HTTPMethod] {
                try await check { request in
                    request.method = method
                    request.body = Self.samples[index]
                }
            }
        }

        @Test(
            "curl sends the same target",
            arguments: [
                "/", "/?q", "/?q=a b&r='\"$(id)`id`\\", "/[1-3]{a,b}", "/ü?🎉=é", "/a%2Fb?c=%26#fragment",
                "/~;,@:!*()=+",
                "/a//b/", "/?a[]=1&b[c]=2",
            ])
        func targets(target: String) async throws {
            try await check(target) { _ in }
        }

        @Test("curl sends the same fields: empty, repeated, with unusual characters, and none of its own")
        func fields() async throws {
            try await check {
                $0.headers = [
                    "X-Empty": "", "X-Odd": "it's \"$HOME\" `id` \\ ; , : @ é 🎉", "X-Twice": "1", "x-twice": "2",
                    "Accept": "a/b", "Authorization": "Bearer t", "X-Colon": ":", "X-Semicolon": ";",
                ]
            }
            try await check {
                $0.method = .post
                $0.headers = ["Content-Type": "text/x", "User-Agent": "me", "Expect": "100-continue"]
                $0.body = Self.data("body")
            }
        }

        @Test("curl sends the same method, and a body if the request has one")
        func methods() async throws {
            for method in [.get, .head, .options, .patch, .post, .put, .delete, "x-Odd'$"] as [HTTPMethod] {
                try await check { $0.method = method }
            }
            try await check {
                $0.options.allowsBodyInGET = true
                $0.body = Self.data("in a GET")
            }
        }

        @Test("The command reads a file from its path, and a streamed body from standard input")
        func files() async throws {
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("it's \(UUID()).bin")
            try Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0) }).write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            try await check {
                $0.method = .put
                $0.body = try .file(file)
            }
            for length in [nil, 8] as [UInt64?] {
                try await check(input: "a stream") {
                    $0.method = .post
                    $0.body = .sequence(length: length) {
                        AsyncStream { continuation in
                            for piece in ["a ", "stream"] { continuation.yield(Data(piece.utf8)) }
                            continuation.finish()
                        }
                    }
                }
            }
        }

        /// Sends the request, runs its command, and compares what the server received.
        private func check(
            _ target: String = "/", input: String = "", sourceLocation: SourceLocation = #_sourceLocation,
            _ change: (inout OutgoingRequest) throws -> Void
        ) async throws {
            let server = try MockServer { _ in .text("") }
            var request = OutgoingRequest(url: try RequestURL(server.url + target))
            try change(&request)
            let session = Session(configuration: SessionConfiguration { $0.headers = [:] })
            let sent = await session.request(request)
            _ = try await sent.serializingData().value
            let command = sent.cURLDescription(redacting: .none)
            try await run(command, input: input)
            let came = server.requests
            try #require(came.count == 2, "\(command)", sourceLocation: sourceLocation)
            #expect(came[0].method == came[1].method, "\(command)", sourceLocation: sourceLocation)
            #expect(came[0].target == came[1].target, "\(command)", sourceLocation: sourceLocation)
            #expect(lines(came[0]) == lines(came[1]), "\(command)", sourceLocation: sourceLocation)
            #expect(came[0].body == came[1].body, "\(command)", sourceLocation: sourceLocation)
        }

        /// Returns the lines in a fixed order: curl reorders the fields that it knows, but keeps the order of repeats.
        private func lines(_ request: MockRequest) -> [String] {
            request.headers.sorted().map { "\($0.name): \($0.value)" }
        }

        private func run(_ command: String, input: String) async throws {
            let (shell, pipe) = (Process(), Pipe())
            shell.executableURL = URL(fileURLWithPath: "/bin/sh")
            // The command is read from a file: one argument of a process is limited, a pasted command is not.
            let script = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).sh")
            try Data(command.utf8).write(to: script)
            defer { try? FileManager.default.removeItem(at: script) }
            shell.arguments = [script.path]
            shell.environment = ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "no_proxy": "*"]
            (shell.standardInput, shell.standardError, shell.standardOutput) = (pipe, nil, nil)
            let end = AsyncStream<Int32>.makeStream()
            shell.terminationHandler = { end.continuation.yield($0.terminationStatus) }
            try shell.run()
            try pipe.fileHandleForWriting.write(contentsOf: Data(input.utf8))
            try pipe.fileHandleForWriting.close()
            #expect(await end.stream.first { _ in true } == 0, "\(command)")
        }
    }
#endif
