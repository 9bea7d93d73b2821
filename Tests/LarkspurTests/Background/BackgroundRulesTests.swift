import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurTransfers

@Suite("Background transfers that cannot work", .limited)
struct BackgroundRulesTests {
    private let runs: BackgroundRuns
    private let url = "https://h/"

    init() throws { runs = try BackgroundRuns() }

    private func opened() throws -> BackgroundTransfers { try runs.begin { _, _ in StubAnswer([.stall]) } }

    @Test(
        "An identifier that cannot be the name of a folder is refused",
        arguments: ["", ".", "..", "a/b", "/", "a\\b", "a\0b", "a\nb", String(repeating: "a", count: 201)])
    func identifiers(identifier: String) async throws {
        let folder = runs.records
        #expect(
            await code { _ = try BackgroundTransfers(identifier: identifier, folder: folder) } == .invalidIdentifier)
    }

    @Test("An identifier, or a folder, that is in use is refused until it is released")
    func inUse() async throws {
        var transfers: BackgroundTransfers? = try opened()
        #expect(await code { _ = try opened() } == .identifierInUse)
        let (identifier, elsewhere, records) = (runs.identifier, runs.folder["elsewhere"], runs.records)
        #expect(
            await code { _ = try BackgroundTransfers(identifier: identifier, folder: elsewhere) } == .identifierInUse)
        #expect(
            await code { _ = try BackgroundTransfers(identifier: "x.\(identifier)", folder: records) }
                == .identifierInUse)
        // A refused object must not release the identifier.
        #expect(await code { _ = try opened() } == .identifierInUse)
        withExtendedLifetime(transfers) {}
        transfers = nil
        let next = try opened()
        await next.close()
        await next.close()
        _ = try opened()
    }

    @Test("Another process that uses the folder is noticed")
    func otherProcess() async throws {
        let folder = try BackgroundFolder(creating: runs.records)
        // A lock of another open file is like that of another process.
        let lock = try WritableFile.claim(folder.path + "/lock", mode: 0o600)
        #expect(await code { _ = try opened() } == .identifierInUse)
        withExtendedLifetime(lock) {}
    }

    @Test("A folder that is a file, or no file URL, is refused")
    func folders() async throws {
        let file = try runs.folder.write([1])
        #expect(await code { _ = try BackgroundTransfers(identifier: "a", folder: file) } == .fileUnwritable)
        let web = try #require(URL(string: "https://h/folder"))
        #expect(await code { _ = try BackgroundTransfers(identifier: "a", folder: web) } == .invalidFileURL)
    }

    @Test("The default folder follows the specification of the XDG folders")
    func standardFolder() throws {
        #if os(Linux)
            func path(_ environment: [String: String]) throws -> String {
                try BackgroundFolder.standard("a.b", in: environment).path
            }
            #expect(try path(["XDG_STATE_HOME": "/s", "HOME": "/h"]) == "/s/larkspur/a.b")
            #expect(try path(["XDG_STATE_HOME": "relative", "HOME": "/h"]) == "/h/.local/state/larkspur/a.b")
            #expect(try path(["HOME": "/h"]) == "/h/.local/state/larkspur/a.b")
            #expect(throws: RequestError.self) { try path([:]) }
        #endif
    }

    @Test("A configuration that cannot work is refused, for the system's transfers more than for others")
    func configurations() async throws {
        func problem(_ isSystem: Bool, _ configure: (inout SessionConfiguration) -> Void) -> RequestError.Code? {
            do throws(RequestError) {
                try BackgroundRules.check(SessionConfiguration(configure), isSystem: isSystem)
                return nil
            } catch {
                return error.code
            }
        }
        for isSystem in [false, true] {
            #expect(problem(isSystem) { _ in } == nil)
            #expect(problem(isSystem) { $0.options.redirects = .follow(limit: 3) } == nil)
            #expect(problem(isSystem) { $0.options.redirects = .deliver } == .unsupportedInBackground)
            let refused: RequestError.Code? = isSystem ? .unsupportedInBackground : nil
            #expect(problem(isSystem) { $0.serverTrust = ServerTrustManager(evaluators: [:]) } == refused)
            #expect(problem(isSystem) { $0.redirectHandler = .doNotFollow } == refused)
        }
        let configuration = SessionConfiguration { $0.options.redirects = .deliver }
        #expect(
            await code { _ = try runs.begin(configuration: configuration) { _, _ in .text("") } }
                == .unsupportedInBackground)
    }

    @Test("A download with a body, or without a fixed place, is refused at once, and leaves no record")
    func downloads() async throws {
        let transfers = try opened()
        let place = Destination.file(runs.folder["a"])
        let withBody = try OutgoingRequest(url, method: .post, body: .data(Data("text".utf8)))
        #expect(await code { try await transfers.download(withBody, to: place) } == .unsupportedInBackground)
        let custom = Destination.custom { temporary, _ in temporary }
        #expect(await code { try await transfers.download(url, to: custom) } == .unsupportedInBackground)
        let web = try #require(URL(string: "https://h/place"))
        #expect(await code { try await transfers.download(url, to: .file(web)) } == .invalidFileURL)
        #expect(await code { try await transfers.download("no url", to: place) } == .invalidURL)
        #expect(await code { try await transfers.download("ftp://h/a", to: place) } == .invalidURL)
        #expect(
            await code { try await transfers.download(url, headers: ["A": "b\r\nC: d"], to: place) } == .invalidRequest)
        #expect(
            await code { try await transfers.download(url, to: place, options: [.checksum(md5: "0")]) }
                == .invalidChecksum)
        #expect(try runs.files == [] && runs.log.count == 0)
    }

    @Test("Two unfinished transfers cannot have the same destination")
    func sameDestination() async throws {
        let transfers = try opened()
        let first = try await transfers.download(url, to: .file(runs.folder["a"]))
        let again = { _ = try await transfers.download(url, to: .file(runs.folder["a"])) }
        #expect(await code(of: again) == .fileInUse)
        await first.cancel()
        #expect(await code(of: again) == nil)
    }

    @Test("Only files can be uploaded: data, forms and streams are refused at once")
    func uploads() async throws {
        let transfers = try opened()
        let file = try runs.folder.write([1, 2, 3])
        for content in [RequestContent.data(Data("text".utf8)), .json("text"), .onceOnly, .multipart { _ in }] {
            #expect(await code { try await transfers.upload(content, to: url) } == .unsupportedInBackground)
        }
        #expect(await code { try await transfers.upload(file: runs.folder["none"], to: url) } == .fileMissing)
        #expect(await code { try await transfers.upload(file: runs.folder.url, to: url) } == .fileIsDirectory)
        #expect(await code { try await transfers.upload(file: file, to: url, method: .get) } == .bodyInGETRequest)
        #expect(try runs.files == [])
        #expect(await code { try await transfers.upload(.file(file), to: url) } == nil)
    }

    @Test("Closed transfers accept no others")
    func closed() async throws {
        let transfers = try opened()
        await transfers.close()
        #expect(await code { try await transfers.download(url, to: .file(runs.folder["a"])) } == .sessionInvalidated)
    }
}
