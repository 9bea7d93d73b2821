import Larkspur

/// The HTML of a page. Scripts and styles are in the extensions.
enum WaterfallPage {
    static let script = "\"use strict\";\n" + model + list + detail + controls

    /// The hashes of ``style`` and ``script`` for the content security policy. A test compares them.
    static let styleHash = "sha256-Q+S6Xf3MgACfZxcNoWKJEjBO7WERP/neamTxsKocWtk="
    static let scriptHash = "sha256-VPCreiIsGDhnIHrG1CiqQQ5eTbED5d2ftxzvUzKMtgc="

    static func bytes(title: String, data: WaterfallData, total: Int) -> [UInt8] {
        var head = WaterfallJSON()
        head.object { head in
            head.member("title", title, limit: 1_000)
            head.member("total", Double(total))
            head.member("start", data.start.timeIntervalSince1970 * 1_000)
            head.member("bodyLimit", Double(data.bodyLimit))
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(data.rows.bytes.count + data.details.bytes.count + 64_000)
        bytes += beginning(title).utf8
        bytes += #"<script type="application/json" id="head">"#.utf8 + head.bytes
        bytes += "</script>\n<script type=\"application/json\" id=\"rows\">[".utf8 + data.rows.bytes
        bytes += "]</script>\n<script type=\"application/json\" id=\"details\">".utf8 + data.details.bytes
        bytes += "</script>\n<script>\(script)</script>\n</body></html>\n".utf8
        return bytes
    }

    private static func beginning(_ title: String) -> String {
        var shown = ""
        for character in title.unicodeScalars {
            switch character {
            case "<": shown += "&lt;"
            case ">": shown += "&gt;"
            case "&": shown += "&amp;"
            default: shown.unicodeScalars.append(character)
            }
        }
        return """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8">
            <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '\(styleHash)'; \
            script-src '\(scriptHash)'; base-uri 'none'; form-action 'none'">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="referrer" content="no-referrer">
            <title>\(shown)</title>
            <style>\(style)</style></head>
            <body>
            \(structure)

            """
    }
}
