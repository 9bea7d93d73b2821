import CLarkspur
import TestSupport
import Testing

@Suite("Certificate names", .limited)
struct CertificateNameTests {
    private static let names: [(name: String, host: String, fits: Bool)] = [
        ("a.test", "a.test", true), ("A.Test", "a.TEST", true), ("a.test.", "a.test", true),
        ("a.test", "a.test.", true), ("a.test.", "a.test.", true), ("a.test..", "a.test", false),
        ("a.test", "b.test", false), ("a.test", "xa.test", false), ("a.test", "a.test.x", false),
        ("a.test\0", "a.test", false), ("a.test\0.x", "a.test", false), ("[.test", "{.test", false),
        ("*.a.test", "b.a.test", true), ("*.a.test", "_b.a.test", true), ("*.a.test", "xn--b-0ga.a.test", true),
        ("*.a.test.", "b.a.test", true), ("*.a.test", "b.A.test.", true), ("*.a.test", "a.test", false),
        ("*.a.test", ".a.test", false), ("*.a.test", "c.b.a.test", false), ("*.a.test", "b.b.test", false),
        ("*.test", "a.test", false), ("*.test.", "a.test", false), ("*.", "a.", false), ("*.", "a", false),
        ("*", "a", false), ("*a.test", "ba.test", false), ("a*.test", "ab.test", false),
        ("*b.a.test", "b.a.test", false),
        ("a.*.test", "a.b.test", false), ("*.*.test", "a.b.test", false), ("*.a.test", "*.a.test", true),
        ("", "", false), (".", ".", false), ("", "a", false), ("a", "", false), ("*.a.test", "", false),
    ]

    @Test("A name matches the same name, and a wildcard matches one whole label", arguments: names)
    func fits(name: String, host: String, fits: Bool) {
        #expect(clarkspur_name_fits(name, name.utf8.count, host, host.utf8.count) == fits)
    }
}
