import Larkspur
import LarkspurTesting

extension Port {
    /// `[AFSecurityPolicy policyWithPinningMode:AFSSLPinningModePublicKey withPinnedCertificates:]`. The server is a
    /// stub with a certificate, so that the example needs no network.
    static func showTrust() async throws {
        let shown = try Certificate([UInt8](Data(base64Encoded: base64, options: .ignoreUnknownCharacters) ?? Data()))
        let foreign = try PublicKeyPin("sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
        for (what, pin) in [("pinned key", shown.pin), ("another key", foreign)] {
            let session = Session(
                configuration: SessionConfiguration {
                    // `validatesDomainName` is an argument of each evaluator
                    $0.serverTrust = ServerTrustManager(evaluators: ["api.example.com": .pinnedKeys(pin, pin)])
                },
                transport: StubTransport { request in
                    .text("trusted").by(
                        PeerTrust(host: "api.example.com", port: 443, certificates: [shown.bytes]))
                })
            let response = await session.request("https://api.example.com/").serializingString().response
            print("\(what):", response.value ?? response.error?.code.rawValue ?? "")
        }
    }

    /// `[[AFNetworkReachabilityManager sharedManager] setReachabilityStatusChangeBlock:]` and `startMonitoring`.
    static func showReachability() async {
        for await status in NetworkMonitor.shared.changes {
            // `AFNetworkReachabilityStatusNotReachable` is `!status.isReachable`. The first status comes at once.
            FileHandle.standardError.write(Data("reachable: \(status.isReachable)\n".utf8))
            print("reachability: told")
            break
        }
    }

    private static let base64 = """
        MIICHDCCAcKgAwIBAgIUSpyPpZyx6505CXpxYMHosNxPKm4wCgYIKoZIzj0EAwIwQDELMAkGA1UEBhMCREUxFzAVBgNVBAoMDkxh
        cmtzcHVyLCBJbmMuMRgwFgYDVQQDDA9hcGkuZXhhbXBsZS5jb20wIBcNMjYxMTIxMTcxNDI1WhgPMjEyNjEwMjgxNzE0MjVaMEAx
        CzAJBgNVBAYTAkRFMRcwFQYDVQQKDA5MYXJrc3B1ciwgSW5jLjEYMBYGA1UEAwwPYXBpLmV4YW1wbGUuY29tMFkwEwYHKoZIzj0C
        AQYIKoZIzj0DAQcDQgAEawQokABcsLjJIa0HJIzEXlyQk4vNtdslOjQooUOe749kVCBPA0QbgTefEYIiSh7pdYQOE6c6zQSmZpkb
        /QsYuKOBlzCBlDAdBgNVHQ4EFgQULlhzFNaSseFmuNHzyHU485BdFyowHwYDVR0jBBgwFoAULlhzFNaSseFmuNHzyHU485BdFyow
        DwYDVR0TAQH/BAUwAwEB/zBBBgNVHREEOjA4gg9hcGkuZXhhbXBsZS5jb22CDSouRXhhbXBsZS5jb22HBMAAAgeHECABDbgAAAAA
        AAAAAAAAAAEwCgYIKoZIzj0EAwIDSAAwRQIhAP9i3XohhaEjWvQnzQwXAjTCPy4ZEb0pL/Njd1ADUTxhAiBaBFJ+g751HX5vvH8R
        ts5OoVY7wdre6xcZI3/dA1AlBA==
        """
}
