import Larkspur
import LarkspurTesting

// A session that sends nothing to a server with an unknown public key, whichever authority issued the certificate.
//
// The servers are stubs with real certificates, so that the example needs no network.

@main
struct Pinning {
    static func main() async throws {
        let key = try certificate(shop).pin
        print("the key:", key)
        // The second pin belongs to a spare key that is stored elsewhere, in case the first is lost.
        let spare = try PublicKeyPin("sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
        let pinned = ServerTrustManager(evaluators: ["*.example.com": .pinnedKeys(key, spare)])

        try await visit("the server itself", shows: shop, trusting: pinned)
        try await visit("somebody in between", shows: other, trusting: pinned)
        try await visit("another host", shows: shop, trusting: pinned, at: "https://example.org/")

        // Pins can be tested before they are enforced: the session reports what they would refuse.
        let (reports, report) = AsyncStream.makeStream(of: String.self)
        let trial = PinnedKeysTrustEvaluator([spare]) { error, _ in report.yield("\(error.code.rawValue)") }
        try await visit("on trial", shows: shop, trusting: ServerTrustManager(evaluators: ["*": trial]))
        for await code in reports.prefix(1) { print("reported:", code) }

        // Your own code can check what a pin cannot express.
        let named = ClosureTrustEvaluator { trust in
            guard trust.certificates[0].hosts.contains(trust.host) else { throw TrustError(.wrongHost, "by name only") }
        }
        try await visit("by a closure", shows: shop, trusting: ServerTrustManager(evaluators: ["*": named]))
    }

    static func visit(
        _ what: String, shows base64: String, trusting manager: ServerTrustManager,
        at url: String = "https://api.example.com/"
    ) async throws {
        let bytes = try certificate(base64).bytes
        let stub = StubTransport { request in
            .text("hello").by(
                PeerTrust(host: request.url.host.map(String.init) ?? "", port: 443, certificates: [bytes]))
        }
        let session = Session(configuration: SessionConfiguration { $0.serverTrust = manager }, transport: stub)
        let response = await session.request(url).serializingString().response
        print(what + ":", response.value ?? response.error?.code.rawValue ?? "")
    }

    static func certificate(_ base64: String) throws -> Certificate {
        try Certificate([UInt8](Data(base64Encoded: base64, options: .ignoreUnknownCharacters) ?? Data()))
    }

    static let shop = """
        MIICHDCCAcKgAwIBAgIUSpyPpZyx6505CXpxYMHosNxPKm4wCgYIKoZIzj0EAwIwQDELMAkGA1UEBhMCREUxFzAVBgNVBAoMDkxh
        cmtzcHVyLCBJbmMuMRgwFgYDVQQDDA9hcGkuZXhhbXBsZS5jb20wIBcNMjYxMTIxMTcxNDI1WhgPMjEyNjEwMjgxNzE0MjVaMEAx
        CzAJBgNVBAYTAkRFMRcwFQYDVQQKDA5MYXJrc3B1ciwgSW5jLjEYMBYGA1UEAwwPYXBpLmV4YW1wbGUuY29tMFkwEwYHKoZIzj0C
        AQYIKoZIzj0DAQcDQgAEawQokABcsLjJIa0HJIzEXlyQk4vNtdslOjQooUOe749kVCBPA0QbgTefEYIiSh7pdYQOE6c6zQSmZpkb
        /QsYuKOBlzCBlDAdBgNVHQ4EFgQULlhzFNaSseFmuNHzyHU485BdFyowHwYDVR0jBBgwFoAULlhzFNaSseFmuNHzyHU485BdFyow
        DwYDVR0TAQH/BAUwAwEB/zBBBgNVHREEOjA4gg9hcGkuZXhhbXBsZS5jb22CDSouRXhhbXBsZS5jb22HBMAAAgeHECABDbgAAAAA
        AAAAAAAAAAEwCgYIKoZIzj0EAwIDSAAwRQIhAP9i3XohhaEjWvQnzQwXAjTCPy4ZEb0pL/Njd1ADUTxhAiBaBFJ+g751HX5vvH8R
        ts5OoVY7wdre6xcZI3/dA1AlBA==
        """

    static let other = """
        MIIBbTCCAROgAwIBAgIUSV3H9x9jDgVMEsvlX7Y8H9MyZ0wwCgYIKoZIzj0EAwIwDDEKMAgGA1UEAwwBYjAeFw0yNjExMjExNzE0
        MjVaFw0yNzExMjExNzE0MjVaMAwxCjAIBgNVBAMMAWIwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATEJ+Iu2kAcDicXpc0VrJS3
        k2E2aANHKRI+9zIGMOlLTfVmh07vXBbzFVMdT9nIZy/L1vdsBeskDtCbpktRat9do1MwUTAdBgNVHQ4EFgQUULD9U/r/50SkHdkp
        SyU2n98KFjkwHwYDVR0jBBgwFoAUULD9U/r/50SkHdkpSyU2n98KFjkwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBF
        AiArQgAt4rPnLvmrvym/PaI1XV7qJWryfOe62GAyjI8fIwIhAKNa3t6DL96/b5JVDvbjtEpdqxZBfd4yG6oYqTWhLtSm
        """
}
