#if os(Linux)
    import Foundation
    import TestSupport
    import Testing

    @testable import LarkspurFleet

    @Suite("Sentinels that name no valid primary", .enabled(if: ValkeyServer.isPresent), .limited)
    struct ValkeySentinelTests {
        @Test(
            "The name is neither used nor shown",
            arguments: [
                ("a\nb", "6379"), (String(repeating: "x", count: 5_000), "6379"), ("", "6379"), ("hidden", "0"),
            ])
        func invalid(host: String, port: String) async throws {
            let socket = try ListeningSocket()
            defer { socket.close() }
            socket.answer("*2\r\n$\(host.utf8.count)\r\n\(host)\r\n$\(port.utf8.count)\r\n\(port)\r\n")
            let store = try ValkeyStore(
                "redis+sentinel://127.0.0.1:\(socket.port)/shop", patience: .milliseconds(500))
            await #expect {
                try await store.value(for: "a")
            } throws: { error in
                let text = "\(error)"
                return text.contains("does not know a primary") && text.utf8.count < 300 && !text.contains("\n")
            }
        }
    }
#endif
