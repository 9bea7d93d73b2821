import Larkspur
import LarkspurTesting
import LarkspurXML

extension Check {
    static func checkData(_ session: Session) async throws {
        let items = [Item(id: 1, name: "first"), Item(id: 2, name: "second")]
        let response = await session.request("items").validate().serializingDecodable([Item].self).response
        await expect(response.value == items, "GET with JSON decoded")
        let json = try await session.request("items").serializingJSON().value
        await expect(json[1]["name"].string == "second", "JSON as a value")
        let echo = try await session.upload(.json(items), to: "echo").serializingDecodable([Item].self).value
        await expect(echo == items, "POST with JSON encoded")
        let form = try await session.upload(.multipart { $0.append("text", name: "part") }, to: "echo")
            .serializingString().value
        await expect(form.contains("name=\"part\""), "POST of a multipart form")
        _ = try await session.request("login").serializingString().value
        let cookies = try await session.request("cookies").serializingString().value
        await expect(cookies == "user=ada", "cookies are kept")
        let document = try await session.request("xml").serializingXML().value
        await expect(document["b"].text == "text", "XML")
        let failure = await session.request("absent").validate().serializingData().response
        await expect(failure.error?.code == .unacceptableStatus, "an error has its code")
    }

    static func checkText(_ session: Session) async throws {
        let text = try await session.request("latin").serializingString().value
        await expect(text == "\u{105}e", "ISO 8859-2 is decoded")
        let host = try? "http://b\u{FC}cher.example/".asRequestURL().host
        await expect(host == "xn--bcher-kva.example", "a host name becomes ASCII")
        await expect(
            System.loaded(["libFoundation.so", "FoundationNetworking", "ICU"]).isEmpty, "Foundation is not loaded")
    }

    static func checkFiles(_ session: Session, _ server: MockServer) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("larkspur-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("large")
        _ = try await session.download("large", to: .file(file)).validate().serializingFile().value
        let expected = MockResponse.pattern(from: 0, count: 3 << 20)
        await expect(try Data(contentsOf: file) == expected, "download to a file")
        let echo = try await session.upload(.file(file), to: "echo").serializingData().value
        await expect(echo == expected, "upload of a file")
    }

    static func checkStreams(_ session: Session) async throws {
        var lines: [String] = []
        for try await line in await session.streamRequest("lines").lines { lines.append(line) }
        await expect(lines == ["one", "two", "three"], "lines of a stream")
        var count = 0
        for try await chunk in await session.streamRequest("large").validate().bytes { count += chunk.count }
        await expect(count == 3 << 20, "bytes of a stream")
        let pieces = AsyncStream { continuation in
            for piece in ["a", "b", "c"] { continuation.yield(Data(piece.utf8)) }
            continuation.finish()
        }
        let echo = try await session.upload(.sequence(pieces), to: "echo").serializingString().value
        await expect(echo == "abc", "upload of a sequence")
    }

    static func checkWebSocket(_ session: Session) async throws {
        let socket = await session.webSocket("socket")
        var messages = socket.messages.makeAsyncIterator()
        try await socket.send("hello")
        await expect(try await messages.next() == .text("hello"), "a WebSocket's text comes back")
        try await socket.close(.normal)
        await expect(await socket.closed.isClean, "a WebSocket closes")
    }
}
