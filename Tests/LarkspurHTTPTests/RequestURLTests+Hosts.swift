import LarkspurHTTP
import TestSupport
import Testing

@Suite("RequestURL: hosts", .limited)
struct RequestURLHostTests {
    static let longLabel = String(repeating: "a", count: 63)
    static let longName = [longLabel, longLabel, longLabel, String(longLabel.dropLast(2))].joined(separator: ".")

    static let names: [(String, String)] = [
        ("LOCALHOST", "localhost"), ("a-b_c~d.e", "a-b_c~d.e"), ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("example.com.", "example.com."), ("%65xample%2Ecom", "example.com"), ("%41", "a"),
        ("1password.com", "1password.com"),
        ("0x7f.example", "0x7f.example"), ("1.2.3.example", "1.2.3.example"), ("0xyz", "0xyz"), ("1e5", "1e5"),
        (longLabel, longLabel), (longName, longName), (longName + ".", longName + "."),
        ("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "0.0.0.0"), ("255.255.255.255", "255.255.255.255"),
        ("%31%32%37.0.0.1", "127.0.0.1"),
    ]

    @Test("a name is decoded and lower-cased, an address kept", arguments: names)
    func namesAreNormalised(name: String, expected: String) throws {
        #expect(try RequestURL("http://\(name)/").host.map(String.init) == expected)
        #expect(try RequestURL("foo://\(name):7/").hostHeader.map(String.init) == expected + ":7")
    }

    static let refusedNames: [(String, RequestURLError.Reason, Int)] = [
        ("a b", .hostInvalid, 8), ("a<b", .hostInvalid, 8), ("a>b", .hostInvalid, 8), ("a\"b", .hostInvalid, 8),
        ("a%b", .hostInvalid, 8), ("a^b", .hostInvalid, 8), ("a|b", .hostInvalid, 8), ("{a}", .hostInvalid, 7),
        ("a`b", .hostInvalid, 8), ("a*b", .hostInvalid, 8), ("a,b", .hostInvalid, 8), ("$a", .hostInvalid, 7),
        ("a]b", .hostInvalid, 8), ("a[b", .hostInvalid, 8),
        ("a%20b", .hostInvalid, 7), ("a%2Fb", .hostInvalid, 7), ("a%40b", .hostInvalid, 7), ("a%3A80", .hostInvalid, 7),
        ("a%00", .hostInvalid, 7), ("a%0d%0ab", .hostInvalid, 7), ("%5B::1%5D", .hostInvalid, 7),
        ("a%5Cb", .hostInvalid, 7),
        ("a%2541", .hostInvalid, 7), ("a%", .hostInvalid, 8),
        (".a", .hostInvalid, 7), ("a..b", .hostInvalid, 9), (".", .hostInvalid, 7), ("a..", .hostInvalid, 9),
        (longLabel + "a", .hostTooLong, 7), ("b." + longLabel + "a", .hostTooLong, 9),
        (longName + "a", .hostTooLong, 7),
        (longLabel + "a.b", .hostTooLong, 7),
        ("256.0.0.1", .ipv4Invalid, 7), ("1.2.3", .ipv4Invalid, 7), ("1.2.3.4.5", .ipv4Invalid, 7),
        ("127.1", .ipv4Invalid, 7), ("0x7f.1", .ipv4Invalid, 7), ("2130706433", .ipv4Invalid, 7),
        ("0x7f000001", .ipv4Invalid, 7), ("0X7F.0.0.1", .ipv4Invalid, 7), ("127.0.0.0x1", .ipv4Invalid, 7),
        ("0177.0.0.1", .ipv4Invalid, 7), ("01.2.3.4", .ipv4Invalid, 7), ("1.2.3.4.", .ipv4Invalid, 7),
        ("a.1", .ipv4Invalid, 7), ("0", .ipv4Invalid, 7), ("a.0x", .ipv4Invalid, 7),
        ("1.2.3.999999999999", .ipv4Invalid, 7),
        ("%30x7f.1", .ipv4Invalid, 7),
        ("bücher.example", .hostNotASCII, 8), ("b%C3%BCcher", .hostNotASCII, 7), ("%FF", .hostNotASCII, 7),
        ("１２７.0.0.1", .hostNotASCII, 7),
    ]

    @Test("a host that other programs read differently is refused", arguments: refusedNames)
    func namesAreRefused(name: String, reason: RequestURLError.Reason, offset: Int) {
        expect("http://\(name)/", reason, offset)
        expect("foo-://\(name)", reason, offset)
    }

    static let addresses: [(String, String)] = [
        ("::", "::"), ("::1", "::1"), ("1::", "1::"), ("2001:DB8:0:0:0:0:0:1", "2001:db8::1"),
        ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"), ("0:0:0:0:0:0:0:0", "::"), ("0001:0002::000f", "1:2::f"),
        ("1:0:0:2:0:0:0:3", "1:0:0:2::3"), ("1:0:0:2:3:0:0:4", "1::2:3:0:0:4"), ("1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"),
        ("1::3:4:5:6:7:8", "1:0:3:4:5:6:7:8"), ("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"),
        ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
        ("fe80::ABCD", "fe80::abcd"), ("::ffff:192.168.0.1", "::ffff:192.168.0.1"),
        ("::FFFF:C0A8:1", "::ffff:192.168.0.1"),
        ("64:ff9b::192.0.2.33", "64:ff9b::c000:221"), ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"),
        ("::1.2.3.4", "::102:304"),
        ("1::1.2.3.4", "1::102:304"),
        ("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ]

    @Test("an IPv6 address is normalised to its shortest form", arguments: addresses)
    func addressesAreCanonical(address: String, expected: String) throws {
        let url = try RequestURL("http://[\(address)]:81/x")
        #expect(url.host.map(String.init) == expected)
        #expect(url.hostHeader.map(String.init) == "[\(expected)]:81")
        #expect(url.text == "http://[\(expected)]:81/x")
        #expect(try RequestURL(url.text) == url)
    }

    static let refusedAddresses: [(String, RequestURLError.Reason, Int)] = [
        ("[]", .ipv6Invalid, 8), ("[:]", .ipv6Invalid, 8), ("[:::]", .ipv6Invalid, 8), ("[1]", .ipv6Invalid, 8),
        ("[1:2:3:4:5:6:7]", .ipv6Invalid, 8), ("[1:2:3:4:5:6:7:8:9]", .ipv6Invalid, 8), ("[1::2::3]", .ipv6Invalid, 8),
        ("[1:2:3:4:5:6:7:8::]", .ipv6Invalid, 8), ("[::1:2:3:4:5:6:7:8]", .ipv6Invalid, 8),
        ("[1:2:3:4::5:6:7:8]", .ipv6Invalid, 8),
        ("[12345::]", .ipv6Invalid, 8), ("[g::]", .ipv6Invalid, 8), ("[:1::2]", .ipv6Invalid, 8),
        ("[1::2:]", .ipv6Invalid, 8),
        ("[::1.2.3]", .ipv6Invalid, 8), ("[::1.2.3.256]", .ipv6Invalid, 8), ("[::01.2.3.4]", .ipv6Invalid, 8),
        ("[::1.2.3.4:5]", .ipv6Invalid, 8), ("[1:2:3:4:5:6:7:1.2.3.4]", .ipv6Invalid, 8),
        ("[1.2.3.4]", .ipv6Invalid, 8),
        ("[::1", .ipv6Invalid, 7), ("[", .ipv6Invalid, 7), ("[[::1]]", .ipv6Invalid, 8), ("[:: 1]", .ipv6Invalid, 8),
        ("[::é]", .ipv6Invalid, 8), ("[::1]x", .portInvalid, 12), ("[::1]]", .portInvalid, 12),
        ("[fe80::1%25eth0]", .ipv6Zone, 15), ("[fe80::1%eth0]", .ipv6Zone, 15), ("[v1.x]", .ipFuture, 8),
        ("[V7.a:b]", .ipFuture, 8),
    ]

    @Test("an invalid IPv6 address is refused", arguments: refusedAddresses)
    func addressesAreRefused(literal: String, reason: RequestURLError.Reason, offset: Int) {
        expect("http://\(literal)/", reason, offset)
    }

    @Test("a non-ASCII host goes through the idna function, decoded and once")
    func idnaIsAsked() throws {
        var asked: [String] = []
        let idna = { (host: String) -> String? in
            asked.append(host)
            return "XN--Bcher-kva.example"
        }
        for text in ["http://bücher.example:81/ü", "http://b%C3%BCcher.example:81/ü"] {
            #expect(try RequestURL(text, idna: idna).text == "http://xn--bcher-kva.example:81/%C3%BC")
        }
        #expect(try RequestURL("http://plain.example/é", idna: idna).host == "plain.example")
        let base = try RequestURL("http://h/")
        #expect(try base.resolving("//bücher.example", idna: idna).host == "xn--bcher-kva.example")
        #expect(try base.resolving("http://bücher.example", idna: idna).host == "xn--bcher-kva.example")
        #expect(asked == Array(repeating: "bücher.example", count: 4))
    }

    @Test(
        "the idna function's answer is validated like any host",
        arguments: [
            ("a/b", RequestURLError.Reason.hostInvalid), ("a@b", .hostInvalid), ("a:80", .hostInvalid),
            ("a\r\nb", .hostInvalid),
            ("[::1]", .hostInvalid), ("%61", .hostInvalid), ("", .hostMissing), ("2130706433", .ipv4Invalid),
            ("ü", .hostNotASCII),
            (longName + "aa", .hostTooLong),
        ])
    func idnaAnswerIsValidated(answer: String, reason: RequestURLError.Reason) {
        #expect {
            try RequestURL("http://ü/", idna: { _ in answer })
        } throws: {
            ($0 as? RequestURLError)?.reason == reason
        }
    }

    @Test("a host the idna function refuses is an error, and invalid UTF-8 never reaches it")
    func idnaMayRefuse() {
        #expect(throws: RequestURLError.self) { try RequestURL("http://ü/", idna: { _ in nil }) }
        #expect(throws: RequestURLError.self) { try RequestURL("http://%FFa/", idna: { _ in "reached.example" }) }
    }
}

/// Expects an error with this reason at this offset.
func expect(
    _ text: String, _ reason: RequestURLError.Reason, _ offset: Int, sourceLocation: SourceLocation = #_sourceLocation
) {
    do throws(RequestURLError) {
        let url = try RequestURL(text)
        Issue.record("\(text.debugDescription) parsed as \(url)", sourceLocation: sourceLocation)
    } catch {
        #expect(error.reason == reason, "\(text.debugDescription)", sourceLocation: sourceLocation)
        #expect(error.offset == offset, "\(text.debugDescription)", sourceLocation: sourceLocation)
    }
}
