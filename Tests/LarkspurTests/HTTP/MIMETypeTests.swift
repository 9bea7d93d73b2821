import Larkspur
import TestSupport
import Testing

/// Tested through the forms that use the types.
@Suite("Types of files", .limited)
struct MIMETypeTests {
    private func type(of bytes: [UInt8], named name: String) async throws -> String {
        var form = MultipartFormData()
        form.append(Data(bytes), name: "n", fileName: name)
        let text = String(decoding: try await form.encode(), as: UTF8.self)
        let line = try #require(text.components(separatedBy: "\r\n").first { $0.hasPrefix("Content-Type: ") })
        return String(line.dropFirst(14))
    }

    @Test(
        "The extension determines the type, in any case and before the content",
        arguments: [
            ("a.jpg", "image/jpeg"), ("a.JPEG", "image/jpeg"), ("a.png", "image/png"), ("a.svg", "image/svg+xml"),
            ("a.mp3", "audio/mpeg"), ("a.mp4", "video/mp4"), ("a.mov", "video/quicktime"), ("a.woff2", "font/woff2"),
            ("a.txt", "text/plain"), ("a.html", "text/html"), ("a.csv", "text/csv"), ("a.js", "text/javascript"),
            ("a.json", "application/json"), ("a.xml", "application/xml"), ("a.pdf", "application/pdf"),
            ("a.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
            ("a.tar.gz", "application/gzip"), ("a.b.zip", "application/zip"), (".hidden.zip", "application/zip"),
            ("a.bin", "application/octet-stream"), ("a.stl", "model/stl"),
        ])
    func extensions(name: String, type: String) async throws {
        #expect(try await self.type(of: Array("GIF89a".utf8), named: name) == type)
    }

    private static func bytes(_ text: String) -> [UInt8] { text.unicodeScalars.map { UInt8($0.value) } }

    @Test(
        "Without a known extension, the first bytes determine the type",
        arguments: ["a", "a.", ".png", "a.unheardof", ""])
    func content(name: String) async throws {
        let rows: [(String, String)] = [
            ("\u{89}PNG\r\n\u{1A}\n....", "image/png"), ("\u{FF}\u{D8}\u{FF}\u{E0}..JFIF", "image/jpeg"),
            ("GIF87a..", "image/gif"), ("RIFF....WEBPVP8 ", "image/webp"), ("RIFF....WAVEfmt ", "audio/wav"),
            ("II*\0....", "image/tiff"), ("%PDF-1.4", "application/pdf"), ("PK\u{3}\u{4}....", "application/zip"),
            ("\u{1F}\u{8B}\u{8}..", "application/gzip"), ("\0\0\0\u{18}ftypmp42", "video/mp4"),
            ("\0\0\0\u{18}ftypheic", "image/heic"), ("ID3\u{3}..", "audio/mpeg"),
            ("\u{FF}\u{FB}\u{90}..", "audio/mpeg"),
            ("OggS\0..", "audio/ogg"), ("fLaC..", "audio/flac"),
            (" \n<!DOCTYPE html><p>", "text/html"), ("<HTML>", "text/html"),
            ("<?xml version=\"1.0\"?>", "application/xml"),
            ("{\"a\": [1]}", "application/json"), (" [1, 2]\n", "application/json"),
            ("[1] is a footnote", "text/plain"),
            ("{ not JSON }", "text/plain"), ("Hello", "text/plain"), ("\u{EF}\u{BB}\u{BF}Hello", "text/plain"),
            ("", "application/octet-stream"), ("a\0b", "application/octet-stream"), ("RIFF", "text/plain"),
            ("\u{C3}(", "application/octet-stream"), ("\u{89}PN", "application/octet-stream"),
        ]
        for (text, type) in rows { #expect(try await self.type(of: Self.bytes(text), named: name) == type, "\(text)") }
    }

    @Test("The type of a long text is determined by its beginning, even if a character is truncated")
    func long() async throws {
        for shift in 0..<4 {
            let text = String(repeating: "x", count: shift) + String(repeating: "👩", count: 400)
            #expect(try await type(of: Array(text.utf8), named: "a") == "text/plain")
        }
        let json = "{\"a\": \"" + String(repeating: "x", count: 1_000) + "\"}"
        #expect(try await type(of: Array(json.utf8), named: "a") == "application/json")
        #expect(try await type(of: [UInt8](repeating: 0x78, count: 600) + [0], named: "a") == "text/plain")
    }
}
