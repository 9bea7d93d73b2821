import Larkspur
import LarkspurTesting
import TestSupport
import Testing

#if os(Linux)
    /// Bodies of every kind, sent by a session over a socket.
    @Suite("Bodies over the wire", .limited)
    struct UploadBodyTests {
        enum Kind: String, CaseIterable {
            case data, file, sequence, inputStream, joined, form

            func body(_ bytes: [UInt8], _ folder: TemporaryFolder, once: Bool = false) throws -> TransportBody {
                let pieces = Pieces(elements: bytes.pieces(of: 30_000))
                switch self {
                case .data: return .data(Data(bytes))
                case .file: return try .file(folder.write(bytes))
                case .sequence: return once ? .sequence(pieces) : .sequence { pieces }
                case .inputStream:
                    return once
                        ? .inputStream(InputStream(data: Data(bytes))) : .inputStream { InputStream(data: Data(bytes)) }
                case .joined:
                    let half = bytes.count / 2
                    return try .joined([.data(Data(bytes[..<half])), .file(folder.write(bytes[half...]))])
                case .form:
                    var form = MultipartFormData(boundary: "b")
                    form.append(try folder.write(bytes), name: "n")
                    form.append(once ? .sequence(pieces) : .sequence { pieces }, name: "n")
                    return try form.body()
                }
            }
        }

        private let server: MockServer
        private let folder: TemporaryFolder
        private let session = Session()

        init() throws {
            server = try MockServer { .text("\($0.body.count)") }
            folder = try TemporaryFolder()
        }

        private func request(
            _ path: String, _ body: TransportBody, method: HTTPMethod = .post
        ) throws -> OutgoingRequest {
            OutgoingRequest(method: method, url: try RequestURL(server.url + path), body: body)
        }

        @Test(
            "Every kind of body arrives complete, with its length or in chunks", arguments: Kind.allCases, [1, 200_000])
        func whole(kind: Kind, length: Int) async throws {
            let body = try kind.body(.pattern(length), folder)
            let expected = try await body.pulled()
            _ = try await session.request(try request("/", body)).serializingString().value
            let received = try #require(server.requests.last)
            #expect(Array(received.body) == expected)
            #expect(received.headers["Content-Length"] == body.length.map(String.init))
            #expect(received.headers["Transfer-Encoding"] == (body.length == nil ? "chunked" : nil))
        }

        @Test("A redirect that keeps the body sends it again", arguments: Kind.allCases)
        func redirected(kind: Kind) async throws {
            server.on("POST", "/from", .redirect(307, to: "/to"))
            let body = try kind.body(.pattern(100_000), folder)
            let expected = try await body.pulled()
            _ = try await session.request(try request("/from", body)).serializingString().value
            #expect(server.requests.map { Array($0.body) } == [expected, expected])
        }

        @Test(
            "The body of an idempotent request is sent again when its reused connection is lost",
            arguments: Kind.allCases)
        func lostConnection(kind: Kind) async throws {
            server.on("PUT", "/dies", MockResponse([.reset]), .text("again"))
            let body = try kind.body(.pattern(100_000), folder)
            let expected = try await body.pulled()
            _ = try await session.request(server.url + "/").serializingString().value
            let text = try await session.request(try request("/dies", body, method: .put)).serializingString().value
            #expect(text == "again")
            #expect(server.requests.dropFirst().map { Array($0.body) } == [expected, expected])
        }

        @Test(
            "A one-shot body is not sent twice: neither on a redirect nor after a lost connection",
            arguments: [Kind.sequence, .inputStream, .form], ["/from", "/dies"])
        func once(kind: Kind, path: String) async throws {
            server.on("POST", "/from", .redirect(307, to: "/to"))
            server.on("POST", "/dies", MockResponse([.reset]), .text("again"))
            _ = try await session.request(server.url + "/").serializingString().value
            let body = try kind.body(.pattern(100_000), folder, once: true)
            let response = await session.request(try request(path, body)).serializingString().response
            #expect(response.error?.code == .bodyNotReplayable)
            #expect(server.requests.count == 2)
        }

        @Test("A small form of text fields is sent with the head, in one piece")
        func smallForm() async throws {
            var form = MultipartFormData()
            for index in 0..<10 { form.append("value \(index)", name: "n") }
            guard case .data = try form.body() else {
                Issue.record("a form of texts is no data")
                return
            }
        }

        @Test("The progress of a form is one count, which only grows and ends at the form's length")
        func progress() async throws {
            let (log, ended) = (Protected<[UInt64]>([]), Gate())
            let session = Session(eventMonitors: [
                ClosureMonitor { event in
                    if case .sendBody(let count) = event { log.withLock { $0.append(count) } }
                    if case .finish = event { ended.open() }
                }
            ])
            var form = MultipartFormData()
            for index in 0..<20 {
                form.append("text", name: "n")
                form.append(try folder.write([UInt8].pattern(index * 10_000), to: "\(index)"), name: "n")
                form.append(.sequence(length: 70_000) { Pieces(elements: [[UInt8].pattern(70_000)]) }, name: "n")
            }
            let text = try await session.request(try request("/", form.body())).serializingString().value
            await ended.pass()
            let counts = log.withLock { $0 }
            #expect(counts == counts.sorted())
            #expect(Set(counts).count == counts.count)
            #expect(counts.last == form.contentLength)
            #expect(text == form.contentLength.map(String.init))
        }

        @Test("A body that fails ends the request with bodyFailed and the underlying error", arguments: [nil, 500_000])
        func failing(length: UInt64?) async throws {
            let body = TransportBody.joined([
                .data(Data([1])),
                .sequence(length: length) { Pieces(elements: [[UInt8].pattern(200_000)], error: ForeignError()) },
            ])
            let error = try #require(await session.request(try request("/", body)).serializingString().response.error)
            #expect(error.code == .bodyFailed)
            #expect(error.stage == .sending)
            #expect((error.underlying as? TransportError)?.underlying as? ForeignError == ForeignError())
            #expect(server.requests.isEmpty)
        }

        @Test("Cancelling a request stops the producer of its body")
        func cancelled() async throws {
            let (pieces, continuation) = AsyncStream.makeStream(of: [UInt8].self)
            let stopped = Gate()
            continuation.onTermination = { _ in stopped.open() }
            continuation.yield([1, 2, 3])
            let request = await session.request(try request("/", .sequence(pieces)))
            request.resume()
            let task = request.serializingString()
            // A body that has not started has no producer to stop.
            for await progress in request.uploadProgress where progress.completed == 3 { break }
            request.cancel()
            #expect(await task.response.error?.code == .cancelled)
            await stopped.pass()
        }
    }

    private struct ClosureMonitor: EventMonitor {
        let note: @Sendable (RequestEvent) -> Void
        func request(_ request: any Request, did event: RequestEvent) { note(event) }
    }
#endif
