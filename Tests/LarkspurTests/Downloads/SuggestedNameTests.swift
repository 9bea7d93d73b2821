import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

@Suite("Suggested file names", .limited)
struct SuggestedNameTests {
    private func name(_ disposition: String?, _ url: String = "http://h/files/photo.png?q=1") throws -> String {
        var headers: HTTPHeaders = [:]
        if let disposition { headers.add(name: "Content-Disposition", value: disposition) }
        return SuggestedName.of(ResponseHead(status: 200, fields: Array(headers)), from: try RequestURL(url))
    }

    @Test(
        "The name of the field is parsed by RFC 6266, and a name with a charset comes first",
        arguments: [
            ("attachment; filename=a.txt", "a.txt"),
            ("attachment; filename=\"a b;c.txt\"; size=3", "a b;c.txt"),
            ("inline; FileName = \"a \\\"b\\\".txt\"", "a \"b\".txt"),
            ("attachment; filename=\"plain.txt\"; filename*=UTF-8''na%C3%AFve%20plan.txt", "naïve plan.txt"),
            ("attachment; filename*=utf-8'en'%e2%82%ac.txt; filename=e.txt", "€.txt"),
            ("attachment; filename*=x-unknown''e.txt; filename=e2.txt", "e2.txt"),
            ("attachment; filename*=UTF-8''%FF%FE; filename=e3.txt", "e3.txt"),
            ("filename=\"not a parameter.txt\"", "photo.png"),
            ("attachment; filename=\"open", "open"), ("attachment", "photo.png"), ("", "photo.png"),
        ])
    func fields(disposition: String, expected: String) throws {
        #expect(try name(disposition) == expected)
    }

    @Test(
        "No suggested name leaves the folder, hides the file or misleads the user",
        arguments: [
            ("../../etc/passwd", "passwd"), ("..\\..\\boot.ini", "boot.ini"), ("C:\\temp\\a.txt", "a.txt"),
            ("..", ""), ("...", ""), (".", ""), ("/", ""), ("a/", ""), (".bashrc", "bashrc"), (" . .a ", "a"),
            ("a\u{0}b\nc\u{7F}.txt", "abc.txt"), ("photo\u{202E}gpj.exe", "photogpj.exe"), ("a. .", "a"), ("", ""),
            ("/\u{200D}../\u{200D}.bashrc", "bashrc"), ("a/\u{301}b", "\u{301}b"), ("..\\\u{FE0F}b", "\u{FE0F}b"),
            (".\u{301}bashrc", "\u{301}bashrc"), ("\u{200D}.bashrc", "bashrc"), ("../\u{200D}", ""),
        ])
    func sanitized(name: String, expected: String) {
        #expect(SuggestedName.sanitized(name) == expected)
    }

    @Test("A name is not longer than the file system allows, and keeps its extension")
    func long() {
        let name = SuggestedName.sanitized(String(repeating: "ü", count: 300) + ".tar")
        #expect(name.utf8.count <= 255)
        #expect(name.hasSuffix("ü.tar"))
        #expect(SuggestedName.sanitized(String(repeating: "a", count: 300)).utf8.count == 255)
        let oneCharacter = "e" + String(repeating: "\u{301}", count: 200)
        #expect(SuggestedName.sanitized(oneCharacter + ".bashrc") == "bashrc")
    }

    @Test(
        "Without the field the name is the decoded last component of the URL, or a default",
        arguments: [
            ("http://h/a/b%20c.txt", "b c.txt"), ("http://h/a/..%2F..%2Fd", "d"), ("http://h/a/", "a"),
            ("http://h", "download"), ("http://h/%2E%2E%2F", "download"), ("http://h/%FF", "%FF"),
        ])
    func urls(url: String, expected: String) throws {
        #expect(try name(nil, url) == expected)
    }
}
