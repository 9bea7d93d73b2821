import Foundation
import Larkspur
import LarkspurTesting
import Testing

@Suite("Secrets in descriptions", .timeLimit(.minutes(3)))
struct HiddenTests {
    private static let secret = "hunter2"

    private static func record<Record: Decodable>(_ text: String) -> Record? {
        try? JSONDecoder().decode(Record.self, from: Data(text.utf8))
    }

    private static let download: DownloadRecord? = record(
        #"{"url": "http://h/?token=hunter2", "partialFile": "file:///a", "validator": "\"v\"", "offset": 7}"#)

    private static let values: [(any Sendable)?] = [
        OAuth2Client(tokenURL: "http://id/token", clientID: "shop", clientSecret: secret),
        OAuth2Client.Grant.refreshToken(secret),
        BasicAuthentication(username: secret, password: secret),
        APIKeyAuthentication(secret),
        DigestAuthentication(username: secret, password: secret),
        Credential(username: secret, password: secret),
        BearerToken(secret, refreshToken: secret),
        download,
        try? Cookie(name: "sid", value: secret, domain: "h.com"),
    ]

    @Test("No description of what has a secret shows it", arguments: values.indices)
    func descriptions(index: Int) throws {
        let value: any Sendable = try #require(Self.values[index])
        #expect(!isShown(value))
    }

    @Test("Nor does one of an upload's record")
    func uploadRecord() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write([1, 2, 3], to: "a.txt")
        let session = TransportLog().session { request, _ in
            request.method == "POST"
                ? .response(201, headers: ["Location": "/u?token=hunter2"])
                : .response(204, headers: ["Upload-Offset": "3"])
        }
        let upload = await session.resumableUpload(file, to: "http://h/?key=hunter2", using: .tus)
        _ = try await upload.value
        let record = try #require(upload.record)
        #expect(record.uploadURL.contains(Self.secret))
        #expect(!isShown(record))
    }

    private func isShown(_ value: any Sendable) -> Bool {
        var (printed, dumped) = ("", "")
        print(value, [value], to: &printed)
        dump(value, to: &dumped)
        return (printed + dumped + String(reflecting: value)).contains(Self.secret)
    }
}
