import Larkspur
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurSecurity

@Suite("Certificates and pins", .limited)
struct CertificateTests {
    @Test("A certificate has its subject, issuer, validity period and key")
    func parts() throws {
        let certificate = try Certificate(Certificate.own)
        #expect(certificate.bytes == Certificate.own)
        #expect(certificate.subject == #"CN=api.example.com,O=Larkspur\, Inc.,C=DE"#)
        #expect(certificate.isSelfIssued)
        #expect(certificate.hosts == ["api.example.com", "*.example.com", "192.0.2.7", "2001:db8::1"])
        #expect(certificate.validFrom == Date(httpDate: "Sat, 21 Nov 2026 17:14:25 GMT"))
        #expect(certificate.validUntil == Date(httpDate: "Mon, 28 Oct 2126 17:14:25 GMT"))
        #expect(certificate.pin.description == "sha256/jbPVtLwTn/P1vNDNOp2nU+oTTUgpNWqJAHqNqTd5voA=")
        let other = try Certificate(Certificate.other)
        #expect(other.hosts.isEmpty && other.description == "CN=b")
        #expect(other.validUntil == Date(httpDate: "Sun, 21 Nov 2027 17:14:25 GMT"), "a year of two digits")
    }

    @Test("Texts that the server controls are lines")
    func lines() throws {
        var bytes = Certificate.own
        for text in ["api.example.com", "Larkspur, Inc."] {
            for start in bytes.indices where bytes[start...].starts(with: text.utf8) {
                bytes[start + 1] = 0x0A
            }
        }
        let certificate = try Certificate(bytes)
        #expect(certificate.subject == "CN=a\u{FFFD}i.example.com,O=L\u{FFFD}rkspur\\, Inc.,C=DE")
        #expect(certificate.hosts.first == "a\u{FFFD}i.example.com")
    }

    @Test("Files contain one certificate in DER, or any number in PEM")
    func files() throws {
        let pem = [Certificate.own, Certificate.other].map {
            "some words\r\n-----BEGIN CERTIFICATE-----\r\n\(Data($0).base64EncodedString(options: .lineLength64Characters))\r\n-----END CERTIFICATE-----\r\n"
        }
        #expect(try Certificate.all(in: Data(pem.joined().utf8)).map(\.bytes) == [Certificate.own, Certificate.other])
        #expect(try Certificate.all(in: Data(Certificate.other)).map(\.bytes) == [Certificate.other])
        for nothing in ["", "words", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"] {
            #expect(throws: RequestError.self) { try Certificate.all(in: Data(nothing.utf8)) }
        }
    }

    @Test("Any bytes produce a certificate or an error")
    func damaged() {
        var random = SeededRandom(seed: 7)
        for count in 0..<Certificate.own.count {
            #expect(throws: RequestError.self) { try Certificate(Array(Certificate.own.prefix(count))) }
        }
        for _ in 0..<rounds(1_000, nightly: 20_000) {
            var bytes = Certificate.own
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            do { #expect(try Certificate(bytes).bytes == bytes) } catch { #expect(error.code == .invalidCertificate) }
        }
    }

    @Test("A certificate with an impossible time of day is invalid", arguments: ["241425", "176025", "171460"])
    func times(time: String) throws {
        var bytes = Certificate.other
        let digits = Array("261121171425Z".utf8)
        let start = try #require(bytes.indices.first { bytes[$0...].starts(with: digits) })
        bytes.replaceSubrange(start + 6..<start + 12, with: time.utf8)
        #expect(throws: RequestError.self) { try Certificate(bytes) }
    }

    @Test("A pin is the hash of a key, and other texts are invalid")
    func pins() throws {
        let text = "sha256/jbPVtLwTn/P1vNDNOp2nU+oTTUgpNWqJAHqNqTd5voA="
        #expect(try PublicKeyPin(text) == Certificate(Certificate.own).pin)
        for wrong in ["", "sha256/", "sha1/" + text.dropFirst(7), String(text.dropFirst(7)), "sha256/AAAA", text + "="]
        {
            #expect { try PublicKeyPin(wrong) } throws: { ($0 as? RequestError)?.code == .invalidPin }
        }
    }
}
