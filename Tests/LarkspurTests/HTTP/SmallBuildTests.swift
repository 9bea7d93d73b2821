import Foundation
import Larkspur
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurMessages

/// Compares the code that replaces Foundation in the small build with Foundation.
@Suite("Replacements of Foundation", .limited)
struct SmallBuildTests {
    @Test(
        "Percent escapes are decoded as by Foundation",
        arguments: [
            "", "plain", "a%20b", "%C3%A4%e2%82%AC", "%", "%4", "%4g", "%zz", "%FF", "%C3", "ä%41", "%00", "%2525", "+",
        ])
    func decodesPercentEscapes(text: String) {
        #expect(text.percentDecoded == text.removingPercentEncoding)
        #expect(text.dropFirst().percentDecoded == text.dropFirst().removingPercentEncoding)
    }

    #if os(Linux)
        @Test(
            "Host names are converted as by Foundation",
            arguments: [
                "b\u{FC}cher.example", "B\u{DC}CHER.example", "bu\u{308}cher.example", "fa\u{DF}.de",
                "\u{4F8B}\u{3048}.jp",
                "\u{5D0}\u{5D1}.example", "\u{3B5}\u{3BB}.gr", "a\u{3002}\u{E9}.fr", "\u{E9}.xn--bcher-kva.example",
            ])
        func convertsHostNames(host: String) throws {
            let ascii = try #require(PlatformIDNA.asciiOfLibrary(host), "libidn2 is part of Debian's libcurl")
            #expect(ascii == PlatformIDNA.ascii(host))
        }

        @Test(
            "An invalid host name has no ASCII form", arguments: ["\u{FFFE}", "a\u{0}\u{E9}", "\u{E9}.\u{AD}\u{202E}x"])
        func refusesHostNames(host: String) { #expect(PlatformIDNA.asciiOfLibrary(host) == nil) }

        @Test(
            "Text is composed as by Foundation",
            arguments: [
                "", "plain", "Ame\u{301}lie", "\u{E9}", "\u{1100}\u{1161}", "\u{2126}", "a\u{327}\u{301}",
            ])
        func composesText(text: String) {
            #expect(Array(text.composedByLibrary.utf8) == Array(text.precomposedStringWithCanonicalMapping.utf8))
        }
    #endif

    @Test("An object of Foundation's classes is JSON's null or number")
    func convertsFoundationValues() throws {
        #expect(try JSON([NSNull(), NSNumber(value: true), NSNumber(value: 7)]) == [nil, true, 7])
    }
}
