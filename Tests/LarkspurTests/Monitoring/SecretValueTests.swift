import Larkspur
import TestSupport
import Testing

@Suite("Secrets that are known by their form", .limited)
struct SecretValueTests {
    private static let values = [
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.s3cret", "eyJhbGciOiJkaXIifQ..s3cret.s3cret.s3cret",
        "eyJhbGciOiJIUzI1NiJ9.s3cret", "Bearer s3cret", "bearer  s3cret/x==", "BEARER: s3cret",
        "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.s3cret",
        "-----BEGIN PRIVATE KEY-----\ns3cret\n-----END PRIVATE KEY-----",
        "-----BEGIN RSA PRIVATE KEY-----\r\ns3cret\r\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\ns3cret\n-----END PGP PRIVATE KEY BLOCK-----",
        "-----BEGIN OPENSSH PRIVATE KEY-----\ns3cret",
        "eyJ-----BEGIN EC PRIVATE KEY-----\ns3cret", "eyJbearer s3cret",
    ]

    private static func percentEncoded(_ text: String) -> String {
        text.utf8.map { byte in
            let hexadecimal = String(byte, radix: 16, uppercase: true)
            let isLetter = byte < 0x80 && Character(Unicode.Scalar(byte)).isLetter
            return isLetter || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "3")
                ? String(Unicode.Scalar(byte)) : "%" + (hexadecimal.count < 2 ? "0" : "") + hexadecimal
        }.joined()
    }

    private static func body(_ text: String, _ type: String?) -> String {
        String(decoding: Redaction.standard.body(Data(text.utf8), type: type), as: UTF8.self)
    }

    @Test("A token or a private key is hidden in a field, a query, a form and a body", arguments: values)
    func hidden(value: String) throws {
        let encoded = Self.percentEncoded(value)
        let json = JSON.object(["note": .array([.string("before \(value)")])]).text()
        let nested = JSON.object(["text": .string(json)]).text()
        let outputs = [
            Redaction.standard.value(of: HTTPHeader(name: "X-Note", value: "before \(value)")),
            Redaction.standard.value(of: HTTPHeader(name: "Location", value: "/before?a=b&c=\(encoded)")),
            try RequestURL("https://h/?before=1&note=\(encoded)").description,
            try RequestURL("https://h/before?\(encoded)").description,
            try RequestURL("https://h/before#\(encoded)").description,
            Self.body("before=1&note=\(encoded)", "application/x-www-form-urlencoded"),
            Self.body(json, "application/json"), Self.body(nested, nil),
            Self.body("before \(value)", "text/plain"), Self.body("before\n\(value)", nil),
            Self.body(#"query { before(note: """\#(value)""") { a } }"#, "application/graphql"),
            Self.body(
                "--b\r\nContent-Disposition: form-data; name=\"before\"\r\n\r\n\(value)\r\n--b--",
                "multipart/form-data; boundary=b"),
        ]
        for output in outputs {
            #expect(!output.contains("s3cret") && output.contains("REDACTED"))
            // A text that names a secret, such as `BEARER:`, is hidden as a whole.
            #expect(output.contains("before") || output.hasPrefix("REDACTED ("))
        }
        #expect(Redaction.none.body(Data(value.utf8), type: nil) == Data(value.utf8))
    }

    @Test("A token in the path of a URL is hidden")
    func paths() throws {
        let url = try RequestURL("https://h/a/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.s3cret/b?c=1")
        #expect(url.description == "https://h/a/REDACTED/b?c=1")
        #expect(!OutgoingRequest(url: url).cURLDescription().contains("s3cret"))
    }

    @Test("Only the token is hidden, and the text around it is shown")
    func around() {
        let text =
            "a eyJhbGciOiJIUzI1NiJ9.e30.s3cret, Bearer s3cret; b -----BEGIN PRIVATE KEY-----\ns3cret\n"
            + "-----END PRIVATE KEY-----\nc"
        #expect(Self.body(text, "text/plain") == "a REDACTED, Bearer REDACTED; b REDACTED\nc")
        #expect(Self.body("\u{FF} Bearer s3cret", "text/plain") == "\u{FF} Bearer REDACTED")
        let bytes = Data([0xFF]) + Data("Bearer s3cret".utf8)
        #expect(Redaction.standard.body(bytes, type: nil) == Data("REDACTED (14 bytes)".utf8))
    }

    @Test(
        "Texts that only resemble a token are shown",
        arguments: [
            "eyJpZCI6MX0", "next eyJpZCI6MX0, and more", "The Bearer scheme is required", "Bearer, Basic",
            "use a bearer token", "Bearer authentication failed", #"Bearer realm="a", scope="b""#,
            "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
            "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----", "-----", "eyJ.a.b", "private",
            "scheme bearer",
        ])
    func shown(value: String) {
        #expect(Redaction.standard.value(of: HTTPHeader(name: "X-Note", value: value)) == value)
        let json = JSON.object(["note": .string(value)]).text()
        #expect(Self.body(json, "application/json") == json)
    }

    @Test(
        "Fields whose names resemble those of secrets are shown if their values cannot be secrets",
        arguments: [
            ("Access-Control-Allow-Credentials", "true", "true"), ("access-control-allow-credentials", "TRUE", "TRUE"),
            ("Refresh", "5", "5"), ("refresh", "0; url=/b?token=s3cret", "0; url=/b?token=REDACTED"),
            ("Refresh", "s3cret", "REDACTED"), ("Refresh", "5ecret", "REDACTED"),
            ("Cache-Control", "private, max-age=0", "private, max-age=0"),
            ("Accept-Patch", "text/plain; a=b", "text/plain; a=b"), ("X-Refresh-Interval", "5", "5"),
            ("DPoP", "s3cret", "REDACTED"), ("X-MS-CLIENT-PRINCIPAL", "s3cret", "REDACTED"),
        ])
    func fields(name: String, value: String, shown: String) {
        #expect(Redaction.standard.value(of: HTTPHeader(name: name, value: value)) == shown)
    }

    @Test("JSON's true and false are shown under any name, and numbers are hidden")
    func flags() {
        let json = #"{"private":false,"refresh":true,"recovery":[true],"password":true,"pin":1,"seed":2}"#
        let shown =
            #"{"private":false,"refresh":true,"recovery":"REDACTED","password":true,"pin":"REDACTED","seed":"REDACTED"}"#
        #expect(Self.body(json, "application/json") == shown)
    }

    @Test("The query of a signed CloudFront URL hides its policy, and another query shows its policy")
    func cloudFront() throws {
        let url = try RequestURL("https://h/a?Expires=1&Policy=s3cret&Signature=s3cret&Key-Pair-Id=s3cret&b=2")
        #expect(
            url.description
                == "https://h/a?Expires=1&Policy=REDACTED&Signature=REDACTED&Key-Pair-Id=REDACTED&b=2")
        #expect(try RequestURL("https://h/a?Policy=open&b=2").description == "https://h/a?Policy=open&b=2")
    }
}
