import Larkspur
import LarkspurTesting

// Transfers several files, and continues after it was killed:
//
//     background FOLDER PLAN
//
// Each line of the plan is `download TAG URL`, `upload TAG URL FILE` or `resumable TAG URL FILE`. A job is done when its
// result is in the file FOLDER/TAG.done. Without arguments the example shows a restart with its own server.

@main
struct Background {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count == 2 else { return try await demonstrate() }
        let lines = try String(contentsOfFile: arguments[1], encoding: .utf8).split(separator: "\n")
        let folder = URL(fileURLWithPath: arguments[0])
        try await perform(lines.map { $0.split(separator: " ").map(String.init) }, in: folder)
        print("all \(lines.count) transfers are done")
    }

    static func perform(_ jobs: [[String]], in folder: URL) async throws {
        let transfers = try BackgroundTransfers(
            identifier: "com.example.background", folder: folder.appendingPathComponent("records"))
        for problem in transfers.problems { print("problem:", problem) }
        var known: [String: BackgroundTransfer] = [:]
        for await restored in transfers.restored { known[restored.tag ?? ""] = restored }
        for job in jobs {
            let note = folder.appendingPathComponent("\(job[1]).done")
            if known[job[1]] == nil, !FileManager.default.fileExists(atPath: note.path) {
                known[job[1]] = try await start(job, transfers, folder)
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (tag, transfer) in known {
                group.addTask { try await finish(transfer, folder.appendingPathComponent("\(tag).done")) }
            }
            try await group.waitForAll()
        }
    }

    static func start(
        _ job: [String], _ transfers: BackgroundTransfers, _ folder: URL
    ) async throws -> BackgroundTransfer {
        let (tag, url) = (job[1], job[2])
        guard job[0] != "download" else {
            return try await transfers.download(url, to: .file(folder.appendingPathComponent(tag)), tag: tag)
        }
        let file = URL(fileURLWithPath: job[3])
        return try await transfers.upload(file: file, to: url, resumable: job[0] == "resumable" ? .tus : nil, tag: tag)
    }

    /// Notes the result, and then removes the transfer. If the program is killed before that, it notes it again.
    static func finish(_ transfer: BackgroundTransfer, _ note: URL) async throws {
        let response = try await transfer.result.get()
        try (response.data ?? Data()).write(to: note)
        await transfer.remove()
    }

    static func demonstrate() async throws {
        let server = try MockServer()
        server.on("GET", "/film") { _ in .text("the film") }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (records, place) = (folder.appendingPathComponent("records"), folder.appendingPathComponent("film"))
        let first = try BackgroundTransfers(identifier: "com.example.background", folder: records)
        let film = try await first.download(server.url + "/film", to: .file(place), tag: "film 7")
        _ = await film.result
        await first.close()
        let second = try BackgroundTransfers(identifier: "com.example.background", folder: records)
        for await restored in second.restored {
            print("restored:", restored)
            print("its file has", try Data(contentsOf: await restored.value.fileURL ?? folder).count, "bytes")
        }
        await server.stop()
    }
}
