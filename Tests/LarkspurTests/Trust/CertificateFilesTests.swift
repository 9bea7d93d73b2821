import Larkspur
import TestSupport
import Testing

@Suite("Certificates of a folder", .limited)
struct CertificateFilesTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func pem(_ certificates: [UInt8]...) -> String {
        certificates.map {
            "-----BEGIN CERTIFICATE-----\n\(Data($0).base64EncodedString())\n-----END CERTIFICATE-----\n"
        }.joined()
    }

    private func failure(_ folder: URL? = nil) -> RequestError? {
        do throws(RequestError) {
            let certificates = try Certificate.all(inFolder: folder ?? self.folder.url)
            Issue.record("\(certificates.count) certificates")
            return nil
        } catch {
            return error
        }
    }

    @Test("Files in DER and PEM are read in the order of their names", arguments: ["cer", "CRT", "Der", "pem"])
    func read(ending: String) throws {
        try folder.write(Certificate.other, to: "a.\(ending)")
        try folder.write(pem(Certificate.own).utf8, to: "b.\(ending)")
        let certificates = try Certificate.all(inFolder: folder.url)
        #expect(certificates.map(\.bytes) == [Certificate.other, Certificate.own])
    }

    @Test("Other files, hidden files and subfolders are ignored, and equal certificates are returned once")
    func others() throws {
        try folder.write("words".utf8, to: "readme.txt")
        try folder.write("words".utf8, to: "pem")
        try folder.write("words".utf8, to: ".hidden.pem")
        try folder.write(pem(Certificate.own, Certificate.other).utf8, to: "both.pem")
        try folder.write(Certificate.own, to: "again.cer")
        let below = folder["below"]
        try FileManager.default.createDirectory(at: below, withIntermediateDirectories: false)
        try Data("words".utf8).write(to: below.appendingPathComponent("a.cer"))
        #expect(try Certificate.all(inFolder: folder.url).map(\.bytes) == [Certificate.own, Certificate.other])
    }

    @Test("A folder that is missing, is a file, or has no certificates is an error that names it")
    func nothing() throws {
        let file = try folder.write("words".utf8, to: "words.txt")
        let cases: [(URL, RequestError.Code)] = [
            (folder["none"], .fileMissing), (file, .fileUnreadable), (folder.url, .fileMissing),
        ]
        for (folder, code) in cases {
            let error = failure(folder)
            #expect(error?.code == code)
            #expect(error?.message.contains(folder.path) == true)
        }
        #expect(failure(URL(string: "https://example.com/pins"))?.code == .invalidFileURL)
    }

    @Test(
        "A file without a valid certificate is an error that names it, though others are valid",
        arguments: [
            "", "words", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        ])
    func invalid(text: String) throws {
        try folder.write(Certificate.own, to: "a.cer")
        let file = try folder.write(text.utf8, to: "b.pem")
        let error = failure()
        #expect(error?.code == .invalidCertificate)
        #expect(error?.message.contains(file.path) == true)
    }

    @Test("A file that cannot be read is an error that names it")
    func unreadable() throws {
        try folder.write(Certificate.own, to: "a.cer")
        let (link, pipe, below) = (folder["b.cer"], folder["c.cer"], folder["d.cer"])
        try #require(symlink(folder["none"].path, link.path) == 0)
        let missing = failure()
        #expect(missing?.code == .fileMissing && missing?.message.contains(link.path) == true)
        try FileManager.default.removeItem(at: link)
        try #require(mkfifo(pipe.path, 0o600) == 0)
        let irregular = failure()
        #expect(irregular?.code == .fileNotRegular && irregular?.message.contains(pipe.path) == true)
        try FileManager.default.removeItem(at: pipe)
        try FileManager.default.createDirectory(at: below, withIntermediateDirectories: false)
        let directory = failure()
        #expect(directory?.code == .fileIsDirectory && directory?.message.contains(below.path) == true)
    }

    @Test("The keys of the certificates are pins; without certificates every server is refused")
    func pins() async throws {
        try folder.write(Certificate.own, to: "a.cer")
        let certificates = try Certificate.all(inFolder: folder.url)
        let trust = ServerTrust(host: "api.example.com", certificates: certificates)
        let evaluators: [any ServerTrustEvaluating] = [
            .pinnedKeys(of: certificates), .pinnedCertificates(certificates),
        ]
        for evaluator in evaluators { try await evaluator.evaluate(trust) }
        let others: [any ServerTrustEvaluating] = [
            .pinnedKeys(of: [try Certificate(Certificate.other)]), .pinnedKeys(of: []), .pinnedCertificates([]),
        ]
        for evaluator in others {
            await #expect { try await evaluator.evaluate(trust) } throws: { ($0 as? TrustError)?.code == .pinMismatch }
        }
    }

    #if Foundation || canImport(Darwin)
        @Test("The resources of a bundle are a folder")
        func bundle() throws {
            let bundle = try #require(Bundle(path: folder.url.path))
            let resources = try #require(bundle.resourceURL)
            let pins = resources.appendingPathComponent("pins")
            try FileManager.default.createDirectory(at: pins, withIntermediateDirectories: true)
            try Data(Certificate.own).write(to: pins.appendingPathComponent("a.der"))
            #expect(try Certificate.all(in: bundle, subdirectory: "pins").map(\.bytes) == [Certificate.own])
            #expect { try Certificate.all(in: bundle) } throws: { ($0 as? RequestError)?.code == .fileMissing }
        }
    #endif
}
