import Larkspur
import LarkspurTesting

// A form with a text, a value, a large file and lines that are generated during the upload, with a progress bar. The
// file is read while it is sent: neither the file nor the form is in memory as a whole.

struct Caption: Codable, Sendable {
    var title: String
    var year: Int
}

@main
struct MultipartUpload {
    static func main() async throws {
        let server = try MockServer()
        server.on("POST", "/photos", reading: .counted) { request in
            .json(#"{"received": \#(request.bodyCount)}"#, status: 201)
        }
        let photo = FileManager.default.temporaryDirectory.appendingPathComponent("Ada's \"best\" \(UUID()).png")
        try Data(repeating: 0x5A, count: 64 << 20).write(to: photo)
        defer { try? FileManager.default.removeItem(at: photo) }

        let upload = await Session().upload(
            multipart: { form in
                form.append("Ada", name: "author")
                form.append(encoding: Caption(title: "At the engine", year: 1843), name: "caption")
                form.append(photo, name: "photo", fileName: "engine.png")
                form.append(.sequence(length: 30) { log() }, name: "log", fileName: "log.txt", mimeType: "text/plain")
            }, to: server.url + "/photos")

        // Iterating the progress starts the request
        var last: TransferProgress?
        for await progress in upload.uploadProgress {
            draw(progress)
            last = progress
        }
        let answer = try await upload.validate().serializingJSON().value
        let sent = last?.completed ?? 0
        print("sent all of it:", last?.fraction == 1)
        print("the server got as much:", answer["received"].int == Int(sent))
        print("status:", upload.head?.status ?? 0)
        print("type:", upload.request?.headers["Content-Type"]?.prefix { $0 != ";" } ?? "")
        await server.stop()
    }

    /// Returns ten lines, as if they were being written now.
    static func log() -> AsyncStream<Data> {
        AsyncStream { lines in
            for number in 0..<10 { lines.yield(Data("\(number)\r\n".utf8)) }
            lines.finish()
        }
    }

    /// Draws the progress over the same line of the terminal.
    static func draw(_ progress: TransferProgress) {
        let filled = Int((progress.fraction ?? 0) * 40)
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: 40 - filled)
        let text = "\r\(bar) \(Int((progress.fraction ?? 0) * 100)) %" + (progress.fraction == 1 ? "\n" : "")
        FileHandle.standardError.write(Data(text.utf8))
    }
}
