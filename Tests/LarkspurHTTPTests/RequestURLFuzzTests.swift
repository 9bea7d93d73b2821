import CTestWidth
import LarkspurHTTP
import TestSupport
import Testing

@Suite("RequestURL: any input", .limited)
struct RequestURLFuzzTests {
    static let rounds = test_rounds(2_500, 100_000)

    static let seeds = [
        "http://user:pass@www.example.com:8080/a/./b/../c%20d;p?q=1&r[]=2#frag",
        "https://[2001:db8::ffff:192.168.0.1]:443/",
        "http://127.0.0.1/%2e%2E/%zz?%41", "file:///etc/../x", "foo://h?a", "g:a/../..//b", "HTTP://A:80",
        "wss://bücher.example/é",
        "http:g", "mailto:a@b", "//u@h:1/x", "../../g?y#s", "http://0x7f.1/", "\u{301}//x", "a:\u{A0}",
    ]
    static let fragments = [
        "/", "//", "..", ".", "%2e", "%", "%4", "@", ":", "[", "]", "[::1]", "?", "#", "\\", " ", "\0", "\r\n", "é",
        "\u{301}", "\u{85}",
        "http://", "::", "0x", "1.2.3.4", "65536", ":80", "%C3%A9", "%FF", "😀", "\u{FFFD}", "A",
    ].map { Array($0.utf8) }

    @Test(
        "whatever is parsed, resolved or appended: no trap, one normal form, no userinfo",
        arguments: [1, 2, 3, 4] as [UInt64])
    func anyInputIsSafe(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let seeds = Self.seeds.map { Array($0.utf8) }
        var base = try? RequestURL("http://u:p@a/b/c/d;p?q")
        var parsed = 0
        for _ in 0..<Self.rounds / 4 {
            var bytes = seeds[random.next(below: seeds.count)]
            for _ in 0..<(1 + random.next(below: 4)) { mutate(&bytes, &random) }
            let text = String(decoding: bytes, as: UTF8.self)
            let idna = random.next(below: 2) == 0 ? { (host: String) -> String? in host } : nil
            let results = [
                try? RequestURL(text, idna: idna), try? base?.resolving(text, idna: idna),
                try? base?.appendingQuery(text),
                try? base?.replacingQuery(text),
            ]
            for case let url? in results {
                parsed += 1
                if let fault = fault(in: url) {
                    Issue.record("\(text.debugDescription) → \(url.text.debugDescription): \(fault)")
                    return
                }
            }
            if let url = results[0], url.text.utf8.count < 200 { base = url }
        }
        #expect(parsed > Self.rounds / 20, "too few inputs parse for a meaningful test")
    }

    private func fault(in url: RequestURL) -> String? {
        let parts = Parts(url)
        guard let again = try? RequestURL(url.text) else { return "the normal form does not parse" }
        if again != url.withoutUserInfo || Parts(again) != parts { return "the normal form is not stable" }
        if parts.text != url.text { return "the parts do not make the text" }
        if !url.text.utf8.allSatisfy({ $0 > 32 && $0 < 127 }) { return "the text is not printable ASCII" }
        if parts.hostHeader?.utf8.contains(UInt8(ascii: "@")) == true { return "the host has an @" }
        if url.isHTTP, parts.host == "" { return "an empty HTTP host" }
        _ = (url.user, url.password, url.origin, url.hashValue)
        return nil
    }

    private func mutate(_ bytes: inout [UInt8], _ random: inout SeededRandom) {
        let place = random.next(below: bytes.count + 1)
        switch random.next(below: 5) {
        case 0: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: place)
        case 1: bytes.insert(contentsOf: Self.fragments[random.next(below: Self.fragments.count)], at: place)
        case 2: bytes.removeSubrange(place..<min(bytes.count, place + random.next(below: 4)))
        case 3: if place < bytes.count { bytes[place] ^= 1 << UInt8(random.next(below: 8)) }
        default: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + random.next(below: 12))], at: place)
        }
    }
}
