import Larkspur
import LarkspurTesting
import TestSupport
import Testing

// The code of the guides to uploads, downloads and streams, word for word.

private struct Tick: Decodable, Sendable { let price: Int }

@Suite("The guides to bodies", .limited)
struct TransferExamples {
    private let log = TransportLog()
    private let folder: TemporaryFolder
    private let url = "https://api.example.com/file"

    init() throws { folder = try TemporaryFolder() }

    @Sendable private static func lines() -> AsyncStream<Data> {
        AsyncStream { pieces in
            pieces.yield(Data("line\n".utf8))
            pieces.finish()
        }
    }

    @Test("Uploads from memory, from disk, from code")
    func uploads() async throws {
        let session = log.session { _, _ in .json(#"{"name": "Ada"}"#) }
        let (data, photo, lines) = (Data("text".utf8), try folder.write("text".utf8, to: "photo.png"), Self.lines)
        let fromMemory = await session.upload(
            data, to: "https://api.example.com/notes/7", method: .put)
        let fromDisk = await session.upload(
            photo, to: "https://api.example.com/photos")
        let fromCode = await session.upload(
            .sequence { lines() }, to: "https://api.example.com/log")
        for request in [fromMemory, fromDisk, fromCode] { _ = try await request.serializingData().value }
        #expect(log.requests.map(\.body.length) == [4, 4, nil])

        let text = "text"
        let stored = await session.request(
            "https://api.example.com/notes/7", method: .put,
            parameters: ["version": 2],
            body: .json(["text": text, "stars": 5]))
        _ = try await stored.serializingData().value
        #expect(log.requests.last?.url.query == "version=2" && log.requests.last?.text?.hasPrefix("{") == true)

        let upload = await session.upload(
            multipart: { form in
                form.append("Ada", name: "author")
                form.append(photo, name: "photo")
                form.append(
                    .sequence { lines() }, name: "log", fileName: "log.txt",
                    mimeType: "text/plain")
            }, to: "https://api.example.com/photos"
        ).validate()
        for await progress in upload.uploadProgress {
            print(progress.fraction ?? 0)
        }
        let reply = try await upload.serializingJSON().value
        #expect(reply["name"] == "Ada")
    }

    @Test("A validator that is attached before the progress is read refuses a 500; a later one is reported as ignored")
    func validatedUpload() async throws {
        let recorder = EventRecorder()
        let session = Session(
            configuration: .bare, transport: log.transport { _, _ in .text("broken", status: 500) },
            eventMonitors: [recorder])
        for isEarly in [true, false] {
            let upload = await session.upload(Data("text".utf8), to: url)
            if isEarly { upload.validate() }
            for await _ in upload.uploadProgress {}
            if !isEarly { upload.validate() }
            #expect(await upload.serializingData().response.error?.statusCode == (isEarly ? 500 : nil))
        }
        await recorder.wait { $0.contains { $0.name == "ignoreOption" } }
    }

    @Test("A resumable upload first creates an upload")
    func resumable() async throws {
        let photo = try folder.write("text".utf8, to: "photo.png")
        let session = log.session { request, _ in
            request.method == "POST"
                ? .response(201, headers: ["Location": "/files/1", "Tus-Resumable": "1.0.0"])
                : .response(204, headers: ["Upload-Offset": "4", "Tus-Resumable": "1.0.0"])
        }
        let upload = await session.resumableUpload(
            photo, to: "https://api.example.com/files", using: .tus)
        let response = try await upload.value
        #expect(response.head?.status == 204)
        #expect(log.requests.map(\.method) == ["POST", "PATCH"])
    }

    @Test("Downloads have a destination, and are validated")
    func downloads() async throws {
        let session = log.session { _, _ in .text("text") }
        let destination = folder["film.mp4"]
        let file = try await session.download(
            url, to: .file(destination), options: [.removePreviousFile]
        ).validate().serializingFile().value
        #expect(file == destination)
        let film = folder["other.mp4"]
        let request = await session.download(url, to: .file(film)).validate()
        for await progress in request.downloadProgress {
            print(progress.completed, progress.total ?? 0)
        }
        let place = try await request.serializingFile().value
        #expect(place == film)
        let (archive, checksum) = (folder["archive"], String(repeating: "0", count: 64))
        let checked = await session.download(
            url, to: .file(archive), options: [.checksum(.sha256, checksum)])
        #expect(await checked.serializingFile().response.error?.code == .checksumMismatch)
    }

    @Test("A download over several connections has a progress and a value")
    func segments() async throws {
        let session = log.session { _, _ in .text("text") }
        let film = folder["film.mp4"]
        let download = await session.download(url, to: film, segments: 4)
        for await progress in download.progress {
            print(progress.completed, progress.total ?? 0)
        }
        let whole = try await download.value
        #expect(whole == film)
    }

    @Test("Streams are read as chunks, lines, strings and values")
    func streams() async throws {
        @Sendable func show(_ tick: Tick) { #expect(tick.price == 7) }
        @Sendable func show(_ result: Result<Tick, RequestError>) {
            #expect((try? result.get().price) == 7)
        }
        let (recorder, answer) = (EventRecorder(), "{\"price\": 7}\n")
        let transport = log.transport { _, _ in .text(answer, contentType: "application/x-ndjson") }
        let session = Session(configuration: .bare, transport: transport, eventMonitors: [recorder])
        for try await chunk in await session.streamRequest(url).bytes {
            print(chunk.count)
        }
        for try await line in await session.streamRequest(url).lines {
            print(line)
        }
        // A character is never split between two texts.
        for try await text in await session.streamRequest(url).strings {
            print(text)
        }
        let ticks = await session.streamRequest(url)
            .decodables(of: Tick.self, framing: .jsonLines)
        for try await tick in ticks { show(tick) }
        let request = await session.streamRequest(url)
        request.responseStreamDecodable(
            of: Tick.self, framing: .jsonLines
        ) { stream in
            switch stream.event {
            case .stream(let result): show(result)
            case .complete(let completion): print(completion.error ?? "done")
            }
        }
        await recorder.wait { events in events.count { $0.name == "finish" } == 5 }
        #expect(log.count == 5)
    }

    @Test("A streamed request has a body")
    func streamWithBody() async throws {
        let (session, lines) = (log.session(), Self.lines)
        let replies = await session.streamRequest(url, method: .post, body: .sequence { lines() })
        #expect(await replies.completion.error == nil)
        #expect(log.requests.map(\.body.length) == [nil])
    }

    @Test("Event streams reconnect until the server ends them")
    func events() async throws {
        let session = log.session { _, number in
            guard number == 1 else { return .response(204) }
            return .text("data: knock\nretry: 1\n\n", contentType: "text/event-stream")
        }
        let events = await session.streamRequest(url).serverSentEvents()
        for try await event in events { print(event.event, event.data) }
        #expect(log.count == 2)
        let watched = await session.streamRequest(url).serverSentEvents()
            .onComment { comment in print("alive: \(comment)") }
            .onReconnect { interruption in
                print(
                    "again in \(interruption.delay):",
                    interruption.error ?? "the server's end")
            }
        for try await _ in watched {}
        #expect(log.count == 3)
    }
}
