import LarkspurHTTP
import TestSupport
import Testing

@Suite("RequestURL: errors", .limited)
struct RequestURLErrorTests {
    static let table: [(String, RequestURLError.Reason, Int)] = [
        ("", .schemeMissing, 0), ("example.com", .schemeMissing, 0), ("/path", .schemeMissing, 0),
        ("//host/path", .schemeMissing, 0), ("?q", .schemeMissing, 0), ("://h", .schemeMissing, 0),
        ("a/b:c", .schemeMissing, 0), ("1http://h/", .schemeInvalid, 0), ("ht tp://h/", .schemeInvalid, 0),
        ("ht%74p://h/", .schemeInvalid, 0), ("hțtp://h/", .schemeInvalid, 0), ("+a:b", .schemeInvalid, 0),
        (" http://h/", .surroundingWhitespace, 0), ("http://h/ ", .surroundingWhitespace, 9),
        ("\u{A0}http://h/", .surroundingWhitespace, 0), ("http://h/x\u{3000}", .surroundingWhitespace, 10),
        (" ", .surroundingWhitespace, 0),
        ("http://h/\n", .controlCharacter, 9), ("\thttp://h/", .controlCharacter, 0),
        ("http://h\r\n/", .controlCharacter, 8),
        ("http://h/a\r\nHost: b", .controlCharacter, 10), ("http://h/\0", .controlCharacter, 9),
        ("ht\ntp://h/", .controlCharacter, 2),
        ("http://h/?\u{7F}", .controlCharacter, 10), ("http://h/#\u{1B}", .controlCharacter, 10),
        ("http://h/é\u{85}", .controlCharacter, 11),
        ("http://u\u{1}:p@h/", .controlCharacter, 8), ("mailto:a\tb", .controlCharacter, 8),
        ("http://a\\b/", .backslashInAuthority, 8), ("http://a\\@b/", .backslashInAuthority, 8),
        ("http://u:p\\@b/", .backslashInAuthority, 10),
        ("foo://a\\b", .backslashInAuthority, 7), ("http://h:80\\@evil/", .backslashInAuthority, 11),
        ("http://", .hostMissing, 7), ("http:///path", .hostMissing, 7), ("http://?q", .hostMissing, 7),
        ("https://#f", .hostMissing, 8),
        ("http://:80/", .hostMissing, 7), ("http://user@/", .hostMissing, 12), ("http://u:p@:80/", .hostMissing, 11),
        ("foo://u@/", .hostMissing, 8), ("file://:1/x", .hostMissing, 7), ("ws:///", .hostMissing, 5),
        ("http://@/", .hostMissing, 8),
        ("http://h:65536/", .portInvalid, 9), ("http://h:99999999999999999999999999/", .portInvalid, 9),
        ("http://h:8a/", .portInvalid, 8),
        ("http://h:-1/", .portInvalid, 8), ("http://h:+1/", .portInvalid, 8), ("http://h:80:80/", .portInvalid, 8),
        ("http://::1/", .hostMissing, 7),
        ("http://fe80::1/", .portInvalid, 11), ("http://2001:db8::1/", .ipv4Invalid, 7),
        ("http://h: 80/", .portInvalid, 8),
        ("http://h:８０/", .portInvalid, 8), ("http://h:%38/", .portInvalid, 8),
        ("http://u:%0A@h/", .userInfoInvalid, 7), ("http://%00@h/", .userInfoInvalid, 7),
        ("http://u:%FF@h/", .userInfoInvalid, 7),
        ("http://u:%7f@h/", .userInfoInvalid, 7),
    ]

    @Test("each fault has its reason and its offset", arguments: table)
    func faultsAreNamed(text: String, reason: RequestURLError.Reason, offset: Int) {
        expect(text, reason, offset)
    }

    @Test(
        "no error shows the userinfo",
        arguments: [
            "http://hunter:secret@/", "http://hunter:secret@a b/", "http://hunter:secret@h:x/", "hunter:secret@h\n",
            "http://hunter:secret%0a@h/", "http://hunter:secret\\@h/", "http://hunter:secret@[::/",
            "1http://hunter:secret@h/",
            "http://hunter:secret@bücher/", " http://hunter:secret@h/", "http://hunter:secret@1.2.3/",
        ])
    func errorsAreDiscreet(text: String) {
        #expect {
            try RequestURL(text)
        } throws: { error in
            let printed = "\(error) \(String(reflecting: error)) \((error as? RequestURLError)?.message ?? "")"
            return !printed.contains("hunter") && !printed.contains("secret")
        }
    }

    @Test("an error names the position, the reason and the remedy")
    func errorsAreHelpful() throws {
        let error = try #require(throws: RequestURLError.self) { try RequestURL("example.com/x") }
        #expect(error.reason == .schemeMissing)
        #expect(error.description.hasPrefix("Invalid URL at byte 0 (schemeMissing): "))
        #expect(error.message.contains("start it with https://"))
    }

    @Test("a text of 65535 bytes parses and a longer one is refused, escapes counted")
    func lengthIsLimited() throws {
        let fits = "http://h/" + String(repeating: "a", count: 65_535 - 9)
        let url = try RequestURL(fits)
        #expect(url.path.utf8.count == 65_535 - 8)
        expect(fits + "a", .tooLong, 65_535)
        expect("http://h/" + String(repeating: " ", count: 30_000) + "x", .tooLong, 30_010)
        expect("HTTP://h/?" + String(repeating: "é", count: 20_000), .tooLong, 40_010)
        #expect(try RequestURL("http://h?" + String(repeating: "a", count: 65_535 - 10)).text.utf8.count == 65_535)
        expect("http://h?" + String(repeating: "a", count: 65_535 - 9), .tooLong, 65_535)
        #expect(throws: RequestURLError.self) { try url.resolving("?q") }
        #expect(throws: RequestURLError.self) { try url.appendingQuery("q") }
        #expect(throws: RequestURLError.self) { try url.replacingQuery("") }
        #expect(try url.replacingQuery(nil) == url)
    }
}

@Suite("RequestURL: userinfo", .limited)
struct RequestURLUserInfoTests {
    static let table: [(String, String?, String?, String)] = [
        ("http://u:p@h/", "u", "p", "http://h/"), ("http://u@h/", "u", nil, "http://h/"),
        ("http://u:@h/", "u", "", "http://h/"),
        ("http://:p@h/", "", "p", "http://h/"), ("http://@h/", nil, nil, "http://h/"),
        ("http://u:p:q@h:81", "u", "p:q", "http://h:81/"),
        ("http://a@b:c@h/", "a@b", "c", "http://h/"), ("http://u:p@evil@h/", "u", "p@evil", "http://h/"),
        ("http://u%3Ax:p%40%2F@h/", "u:x", "p@/", "http://h/"), ("http://ü:%C3%A9@h/", "ü", "é", "http://h/"),
        ("http://u:p w%@h/", "u", "p w%", "http://h/"), ("http://u:[p]|@H:80/@x", "u", "[p]|", "http://h/@x"),
        ("foo://u:p@h", "u", "p", "foo://h"), ("http://u:p@[::1]:8/", "u", "p", "http://[::1]:8/"),
        ("http://h/u:p@x", nil, nil, "http://h/u:p@x"),
        ("http://h?u:p@x", nil, nil, "http://h/?u:p@x"), ("mailto:u@h", nil, nil, "mailto:u@h"),
    ]

    @Test("the last @ splits; user and password are decoded and not part of the text", arguments: table)
    func userInfoIsSplitOff(text: String, user: String?, password: String?, expected: String) throws {
        let url = try RequestURL(text)
        #expect(url.user == user)
        #expect(url.password == password)
        #expect(url.text == expected)
    }

    @Test("userinfo never shows when a URL is printed, dumped or stripped")
    func userInfoNeverShows() throws {
        let url = try RequestURL("http://hunter:secret@h/x?y#z")
        var dumped = ""
        dump(url, to: &dumped)
        dump([url], to: &dumped)
        let printed = "\(url) \(String(reflecting: url)) \([url]) \(Optional(url) as Any) \(url.origin) \(dumped)"
        #expect(!printed.contains("hunter"))
        #expect(!printed.contains("secret"))
        #expect(url.withoutUserInfo.user == nil)
        #expect(url.withoutUserInfo.password == nil)
        #expect(try url.withoutUserInfo == RequestURL("http://h/x?y#z"))
    }

    @Test("userinfo counts when URLs are compared")
    func userInfoCounts() throws {
        let urls = try ["http://h/", "http://u@h/", "http://u:@h/", "http://u:p@h/", "http://v:p@h/"].map {
            try RequestURL($0)
        }
        #expect(Set(urls).count == urls.count)
        #expect(Set(urls.map(\.origin)).count == 1)
        #expect(try RequestURL("http://%75:%7e@h/") == RequestURL("http://u:~@H/"))
    }
}
