import Larkspur

/// Certificates for tests of trust.
extension Certificate {
    static let own = text(
        """
        MIICHDCCAcKgAwIBAgIUSpyPpZyx6505CXpxYMHosNxPKm4wCgYIKoZIzj0EAwIwQDELMAkGA1UEBhMCREUxFzAVBgNVBAoM
        DkxhcmtzcHVyLCBJbmMuMRgwFgYDVQQDDA9hcGkuZXhhbXBsZS5jb20wIBcNMjYxMTIxMTcxNDI1WhgPMjEyNjEwMjgxNzE0
        MjVaMEAxCzAJBgNVBAYTAkRFMRcwFQYDVQQKDA5MYXJrc3B1ciwgSW5jLjEYMBYGA1UEAwwPYXBpLmV4YW1wbGUuY29tMFkw
        EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEawQokABcsLjJIa0HJIzEXlyQk4vNtdslOjQooUOe749kVCBPA0QbgTefEYIiSh7p
        dYQOE6c6zQSmZpkb/QsYuKOBlzCBlDAdBgNVHQ4EFgQULlhzFNaSseFmuNHzyHU485BdFyowHwYDVR0jBBgwFoAULlhzFNaS
        seFmuNHzyHU485BdFyowDwYDVR0TAQH/BAUwAwEB/zBBBgNVHREEOjA4gg9hcGkuZXhhbXBsZS5jb22CDSouRXhhbXBsZS5j
        b22HBMAAAgeHECABDbgAAAAAAAAAAAAAAAEwCgYIKoZIzj0EAwIDSAAwRQIhAP9i3XohhaEjWvQnzQwXAjTCPy4ZEb0pL/Nj
        d1ADUTxhAiBaBFJ+g751HX5vvH8Rts5OoVY7wdre6xcZI3/dA1AlBA==
        """)

    static let other = text(
        """
        MIIBbTCCAROgAwIBAgIUSV3H9x9jDgVMEsvlX7Y8H9MyZ0wwCgYIKoZIzj0EAwIwDDEKMAgGA1UEAwwBYjAeFw0yNjExMjEx
        NzE0MjVaFw0yNzExMjExNzE0MjVaMAwxCjAIBgNVBAMMAWIwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATEJ+Iu2kAcDicX
        pc0VrJS3k2E2aANHKRI+9zIGMOlLTfVmh07vXBbzFVMdT9nIZy/L1vdsBeskDtCbpktRat9do1MwUTAdBgNVHQ4EFgQUULD9
        U/r/50SkHdkpSyU2n98KFjkwHwYDVR0jBBgwFoAUULD9U/r/50SkHdkpSyU2n98KFjkwDwYDVR0TAQH/BAUwAwEB/zAKBggq
        hkjOPQQDAgNIADBFAiArQgAt4rPnLvmrvym/PaI1XV7qJWryfOe62GAyjI8fIwIhAKNa3t6DL96/b5JVDvbjtEpdqxZBfd4y
        G6oYqTWhLtSm
        """)

    private static func text(_ base64: String) -> [UInt8] {
        Data(base64Encoded: base64, options: .ignoreUnknownCharacters).map { [UInt8]($0) } ?? []
    }
}
