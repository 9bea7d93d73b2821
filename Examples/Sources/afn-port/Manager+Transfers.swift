import Larkspur
import LarkspurTesting

extension Manager {
    /// `POST:parameters:headers:constructingBodyWithBlock:progress:success:failure:`
    func sendPhoto(_ file: URL) async throws -> (JSON, TransferProgress?) {
        let upload = await session.upload(
            multipart: { form in
                // `[formData appendPartWithFormData:name:]`
                form.append("Ada", name: "author")
                // `[formData appendPartWithFileURL:name:fileName:mimeType:error:]`
                form.append(file, name: "photo", fileName: "photo.png", mimeType: "image/png")
            }, to: "photos")
        // `progress:^(NSProgress *progress) { … }`
        var last: TransferProgress?
        for await progress in upload.uploadProgress { last = progress }
        return (try await upload.serializingJSON().value, last)
    }

    /// `uploadTaskWithRequest:fromFile:progress:completionHandler:`
    func sendFilm(_ file: URL) async throws -> JSON {
        try await session.upload(file, to: "film", method: .put).serializingJSON().value
    }

    /// `downloadTaskWithRequest:progress:destination:completionHandler:`
    func fetchFilm(to folder: URL) async throws -> (URL, TransferProgress?) {
        let download = await session.download(
            "film",
            // `destination:^NSURL *(NSURL *targetPath, NSURLResponse *response) { … }`
            to: .custom { _, head in
                folder.appendingPathComponent(head["Content-Type"] == "video/mp4" ? "film.mp4" : "film")
            })
        var last: TransferProgress?
        for await progress in download.downloadProgress { last = progress }
        return (try await download.serializingFile().value, last)
    }
}

extension Port {
    static func showTransfers(_ manager: Manager) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("original")
        try Data(repeating: 0x5A, count: 1 << 20).write(to: file)

        let (photo, sent) = try await manager.sendPhoto(file)
        print("multipart upload:", photo["parts"].int ?? 0, "parts, progress", sent?.fraction ?? 0)
        print("the server got as much:", photo["bytes"].int == sent.map { Int($0.completed) })
        print("upload task:", try await manager.sendFilm(file)["bytes"].int ?? 0, "bytes")
        let (film, received) = try await manager.fetchFilm(to: folder)
        print("download:", film.lastPathComponent, received?.completed ?? 0, "bytes")
    }

    static func serve(_ server: MockServer) {
        server.on("GET", "/users") { request in
            .json(#"[{"id": 7, "name": "Ada, \#(request.query ?? "")"}]"#)
        }
        server.on("POST", "/users", .json(#"{"id": 8, "name": "Grace"}"#, status: 201))
        server.on("POST", "/users/7/name") { .text(String(decoding: $0.body, as: UTF8.self)) }
        server.on("GET", "/nothing", .json(#"{"error": "no such user"}"#, status: 404))
        server.on("POST", "/photos") { request in
            let parts = String(decoding: request.body, as: UTF8.self).components(separatedBy: "; name=").count - 1
            return .json(#"{"parts": \#(parts), "bytes": \#(request.bodyCount)}"#)
        }
        server.on("PUT", "/film", reading: .counted) { .json(#"{"bytes": \#($0.bodyCount)}"#) }
        server.on("GET", "/film") { _ in .text("a short film", contentType: "video/mp4") }
    }
}
