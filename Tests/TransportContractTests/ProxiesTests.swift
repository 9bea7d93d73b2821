#if os(Linux)
    import Larkspur
    import TestSupport
    import Testing

    @Suite("Proxies", .limited)
    struct ProxiesTests {
        struct Read: Sendable, CustomTestStringConvertible {
            let text: String
            let kind: Proxy.Kind
            let host: String
            let port: Int
            var username: String?
            var password: String?
            var testDescription: String { text }
        }

        static let proxies = [
            Read(text: "proxy.example", kind: .http, host: "proxy.example", port: 80),
            Read(text: "Proxy.Example:3128", kind: .http, host: "proxy.example", port: 3_128),
            Read(text: "http://proxy.example/", kind: .http, host: "proxy.example", port: 80),
            Read(text: "https://proxy.example", kind: .https, host: "proxy.example", port: 443),
            Read(text: "socks5://127.0.0.1", kind: .socks5, host: "127.0.0.1", port: 1_080),
            Read(text: "socks5h://[::1]:9", kind: .socks5h, host: "::1", port: 9),
            Read(
                text: "http://user:p%40ss%3A@proxy.example:1", kind: .http, host: "proxy.example", port: 1,
                username: "user", password: "p@ss:"),
            Read(text: "user@proxy.example", kind: .http, host: "proxy.example", port: 80, username: "user"),
        ]

        @Test("A proxy is read from its URL", arguments: proxies)
        func read(_ read: Read) throws {
            let proxy = try Proxy(read.text)
            #expect((proxy.kind, proxy.host, proxy.port) == (read.kind, read.host, read.port))
            #expect((proxy.username, proxy.password) == (read.username, read.password))
        }

        @Test(
            "An invalid proxy is refused with an error",
            arguments: [
                "", "http://", "ftp://proxy.example", "socks4://proxy.example", "http://proxy.example/path",
                "http://proxy.example/?query", "http://proxy example", "http://proxy.example:99999",
                "socks5://\(String(repeating: "u", count: 256))@proxy.example", "http://a\r\nb",
            ])
        func refused(text: String) {
            #expect { try Proxy(text) } throws: { ($0 as? TransportError)?.code == .invalidProxy }
        }

        @Test("No description of a proxy shows its password")
        func hidden() throws {
            let proxies = try Proxies(Proxy("http://somebody:secret@proxy.example:3128"))
            var dumped = ""
            dump(proxies, to: &dumped)
            let configuration = CurlTransport.Configuration { $0.proxies = proxies }
            for text in ["\(proxies)", "\(String(reflecting: proxies))", dumped, "\(configuration)"] {
                #expect(!text.contains("secret") && !text.contains("somebody"))
            }
        }

        private static let rules: [(exception: String, direct: [String], proxied: [String])] = [
            ("*", ["http://a.example/", "http://[::1]/"], []),
            (
                "example.com",
                ["http://example.com/", "http://EXAMPLE.com:81/", "http://a.b.example.com/", "http://example.com./"],
                ["http://notexample.com/", "http://example.com.evil/", "http://com/"]
            ),
            ("example.com.", ["http://example.com/"], ["http://example.org/"]),
            (".example.com", ["http://a.example.com/"], ["http://example.com/", "http://aexample.com/"]),
            ("*.example.com", ["http://a.example.com/"], ["http://example.com/"]),
            ("example.com:8080", ["http://example.com:8080/"], ["http://example.com/"]),
            ("example.com:80", ["http://example.com/"], ["https://example.com/"]),
            ("localhost", ["http://localhost:1/"], ["http://127.0.0.1/"]),
            ("127.0.0.1", ["http://127.0.0.1/", "http://127.0.0.1:81/"], ["http://127.0.0.2/", "http://localhost/"]),
            (
                "10.0.0.0/8", ["http://10.0.0.1/", "http://10.255.255.255:8/"],
                ["http://11.0.0.1/", "http://10.example/", "http://[::ffff:a00:1]/"]
            ),
            ("192.168.1.128/25", ["http://192.168.1.128/", "http://192.168.1.255/"], ["http://192.168.1.127/"]),
            ("0.0.0.0/0", ["http://1.2.3.4/"], ["http://[::1]/", "http://a.example/"]),
            ("::1", ["http://[::1]/"], ["http://[::2]/"]), ("[::1]:81", ["http://[::1]:81/"], ["http://[::1]/"]),
            ("fd00::/8", ["http://[fd12::1]/"], ["http://[fe00::1]/", "http://253.0.0.1/"]),
        ]

        @Test("Exceptions are direct, and all other hosts use the proxy", arguments: rules)
        func exceptions(rule: (exception: String, direct: [String], proxied: [String])) throws {
            let proxies = try Proxies(Proxy("http://proxy.example"), except: ["other.example", rule.exception])
            for url in rule.direct { #expect(proxies.proxy(for: try RequestURL(url)) == nil, "\(url)") }
            for url in rule.proxied { #expect(proxies.proxy(for: try RequestURL(url)) != nil, "\(url)") }
        }

        @Test(
            "An invalid exception is refused",
            arguments: [
                "", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "a b", "http://example.com", "example.com/8", "*.", ".",
            ])
        func noException(text: String) throws {
            let proxy = try Proxy("http://proxy.example")
            #expect { try Proxies(proxy, except: [text]) } throws: { ($0 as? TransportError)?.code == .invalidProxy }
        }

        @Test(
            "The error about an invalid exception shows no password",
            arguments: [
                "http://ada:hunter2@proxy", "ada:hunter2@proxy:3128",
                "ada:hunter2\(String(repeating: "x", count: 200))@h",
            ])
        func passwordInException(text: String) throws {
            let proxy = try Proxy("http://proxy.example")
            let error = #expect(throws: TransportError.self) { try Proxies(proxy, except: [text]) }
            #expect(error.map { "\($0)" }?.contains("hunter2") == false)
        }

        @Test(
            "The environment's proxies are read as by curl: HTTP_PROXY is ignored, because a CGI client can set it"
        )
        func environment() throws {
            func proxy(_ variables: [String: String], _ url: String = "http://a.example/") throws -> String? {
                try Proxies.environment(variables).proxy(for: RequestURL(url))?.description
            }
            #expect(try proxy([:]) == nil)
            #expect(try proxy(["http_proxy": "p.example:1"]) == "http://p.example:1")
            #expect(try proxy(["http_proxy": "p.example:1"], "https://a.example/") == nil)
            #expect(try proxy(["HTTP_PROXY": "p.example:1"]) == nil)
            #expect(try proxy(["HTTPS_PROXY": "p.example:1"], "https://a.example/") == "http://p.example:1")
            #expect(
                try proxy(["HTTPS_PROXY": "p.example:1", "https_proxy": "q.example:1"], "https://a.example/")
                    == "http://q.example:1")
            #expect(try proxy(["ALL_PROXY": "socks5h://p.example"]) == "socks5h://p.example:1080")
            #expect(try proxy(["all_proxy": "p.example:1", "http_proxy": "q.example:1"]) == "http://q.example:1")
            #expect(try proxy(["http_proxy": ""]) == nil)
            let exempt = ["http_proxy": "p.example:1", "no_proxy": "10.*, ,b.example,a.example"]
            #expect(try proxy(exempt) == nil)
            #expect(try proxy(exempt, "http://c.example/") == "http://p.example:1")
            #expect(throws: TransportError.self) { try proxy(["http_proxy": "ftp://p.example"]) }
        }

        @Test("Schemes may have their own proxies")
        func schemes() throws {
            let proxies = try Proxies(http: Proxy("http://p.example:1"))
            #expect(proxies.proxy(for: try RequestURL("http://a.example/")) != nil)
            #expect(proxies.proxy(for: try RequestURL("https://a.example/")) == nil)
        }
    }
#endif
