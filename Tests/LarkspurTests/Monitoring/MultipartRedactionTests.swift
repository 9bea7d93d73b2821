import Larkspur
import TestSupport
import Testing

/// The names in these bodies, such as `pin`, are too short to be found without a parser.
@Suite("Secrets in multipart bodies", .limited)
struct MultipartRedactionTests {
    private static let form = "multipart/form-data; boundary=b"

    private static func shown(_ body: String, _ type: String = form) -> String {
        String(decoding: Redaction.standard.body(Data(body.utf8), type: type), as: UTF8.self)
    }

    /// Returns a form of one part with this header.
    private static func part(_ header: String, _ content: String = "s3cret") -> String {
        "--b\r\n\(header)\r\n\r\n\(content)\r\n--b--\r\n"
    }

    @Test(
        "A part is hidden however its secret name is written",
        arguments: [
            #"form-data; name="pin""#, "form-data; name=pin", "form-data; name = pin", #"form-data;name ="pin""#,
            "form-data; name='pin'", "form-data; NAME=pin", "form-data; name=pin;", "form-data; name=pin ; x=y",
            "form-data; name*=UTF-8''pin", "form-data; name*=utf-8'en'p%69n", "form-data; name=a; name*=UTF-8''pin",
            "form-data; name*=UTF-7''a", "form-data; name*0=pi; name*1=n", "form-data; name*0*=UTF-8''p%69; name*1=n",
            "form-data; name*1=n; name*0=pi", #"form-data; name="p\in""#, #"form-data; name="\"pin""#,
            #"form-data; name="card\[pin]""#, "form-data; name=a; name=pin", "form-data; name=pin; name=a",
            #"form-data; name="pin"#, #"form-data; name="a"; x; name=pin"#, #"form-data; name="a"b"#,
            #"form-data; filename="x; name=a"; name=pin"#, #"form-data; filename="a\"; name="pin""#,
            "form-data;\r\n name=pin", "form-data;\r\n\tname=\r\n pin", "form-data; name=\"=?utf-8?B?cGlu?=\"",
            "form-data", "form-data; name=", "form-data; name=\"\"", "form-data; filename=a", "", "form-data name=pin",
            "form-data; name=\"p%69n\"", "form-data; na me=pin", "form-data; x=\"\r\nname=pin",
        ])
    func names(disposition: String) {
        for field in ["Content-Disposition: ", "content-disposition:", "Content-Disposition : "] {
            let output = Self.shown(Self.part(field + disposition))
            #expect(!output.contains("s3cret") && output.contains("REDACTED"))
        }
    }

    @Test(
        "A body or part that cannot be parsed is hidden",
        arguments: [
            (form, "--b\nContent-Disposition: form-data; name=pin\n\ns3cret\n--b--\n"),
            (
                form,
                "--b\r\nContent-Disposition: form-data; name=a\r\n\r\n1\n--b\nContent-Disposition: form-data; name=pin\n\ns3cret"
            ),
            (form, "--b\rContent-Disposition: form-data; name=pin\r\rs3cret\r--b--"),
            (
                form,
                "--b\r\nContent-Disposition: form-data; name=a\rContent-Disposition: form-data; name=pin\r\n\r\ns3cret"
            ),
            (form, "s3cret\r\n--b--"), (form, "--b--\r\ns3cret"), (form, "s3cret"),
            (form, "--c\r\n\r\ns3cret\r\n--c--"),
            (form, "--b\r\n\r\ns3cret\r\n--b--"), (form, "--b\r\ns3cret\r\n--b--"), (form, "--b s3cret\r\n--b--"),
            (form, "--b\r\nX-Note: 1\r\n\r\ns3cret\r\n--b--"),
            (form, "--b\r\nContent-Disposition: form-data; name=a\r\ns3cret\r\n--b--"),
            (form, "--b\r\nContent-Disposition: form-data; name=a\r\nX-Api-Key: s3cret\r\n\r\n1\r\n--b--"),
            (form, "--b\r\n Content-Disposition: form-data; name=a\r\n\r\ns3cret\r\n--b--"),
            (form, part("Content-Disposition: form-data; name=a\r\nContent-Disposition: form-data; name=pin")),
            (
                form,
                part(
                    "Content-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: quoted-printable",
                    "p=69n=3Ds3cret")
            ),
            (form, "--b \r\nContent-Disposition: form-data; name=pin\r\n\r\ns3cret\r\n--b-- "),
            (form, "--bx\r\nContent-Disposition: form-data; name=pin\r\n\r\ns3cret\r\n--b--"),
            (
                form,
                part(
                    "Content-Disposition: form-data; name=a\r\nContent-Type: multipart/mixed; boundary=i",
                    "--i\r\nContent-Disposition: file; name=pin\r\n\r\ns3cret\r\n--i--")
            ),
            (
                form,
                part(
                    "Content-Disposition: form-data; name=a\r\nContent-Type: multipart/mixed",
                    "--i\r\n\r\ns3cret\r\n--i--")
            ),
            ("multipart/form-data", part("Content-Disposition: form-data; name=pin")),
            ("multipart/form-data; boundary=", part("Content-Disposition: form-data; name=pin")),
            ("multipart/form-data; boundary=\"\"", "\r\n--\r\ns3cret"),
            ("Multipart/Form-Data ; Boundary=c", part("a: b")),
            (" multipart/form-data; boundary=b", part("Content-Disposition: form-data; name=pin")),
            ("multipart/mixed; boundary=b", part("Content-Disposition: attachment; name=pin")),
            ("multipart/related", part("Content-Type: text/plain")),
            ("text/plain", part("Content-Disposition: form-data; name=pin")),
        ])
    func unparsable(type: String, body: String) {
        let output = Self.shown(body, type)
        #expect(!output.contains("s3cret") && output.contains("REDACTED"))
    }

    @Test(
        "A part with a harmless name is shown",
        arguments: [
            #"Content-Disposition: form-data; name="note"; filename="x; name=pin.txt""#,
            #"Content-Disposition: form-data; name="a \"b\" c""#, "Content-Disposition: form-data; name=note",
            "Content-Disposition: form-data; name*=UTF-8''n%C3%B6te",
            "Content-Disposition: form-data;\r\n name=note\r\nContent-Type: text/plain; charset=utf-8",
            "CONTENT-DISPOSITION: form-data; name=note\r\nContent-Transfer-Encoding: 8BIT",
            "content-disposition:form-data;name=n;",
        ])
    func harmless(header: String) {
        let body = Self.part(header, "shown\r\n-- and more\n")
        #expect(Self.shown(body) == body)
        let lines = body.replacing("\r\n", with: "\n")
        #expect(Self.shown(lines) == lines)
    }

    @Test("A multipart body of another kind shows its parts by their types")
    func mixed() {
        let body = "--b\r\n\r\nshown\r\n--b\r\nContent-Type: application/json\r\n\r\n{\"pin\":1,\"a\":2}\r\n--b--"
        #expect(Self.shown(body, "multipart/related; boundary=b") == body.replacing("1", with: "\"REDACTED\""))
    }

    @Test("Multipart bodies inside each other are read to a limited depth, and hidden below it")
    func depth() {
        var body = "s3cret"
        for level in 0..<200 {
            body =
                "--b\(level).\r\nContent-Type: multipart/mixed; boundary=b\(level - 1).\r\n\r\n\(body)\r\n--b\(level).--"
        }
        #expect(!Self.shown(body, "multipart/mixed; boundary=b199.").contains("s3cret"))
    }
}
