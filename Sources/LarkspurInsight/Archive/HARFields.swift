import Larkspur

/// The fields of a head as an archive shows them, and what they say about the body.
struct HARFields: Sendable {
    /// The fields without secrets.
    private(set) var shown = HTTPHeaders()
    /// ``shown`` as an array of an archive's JSON.
    private(set) var json: [UInt8] = []
    private(set) var cookies: [HARArchive.Cookie] = []
    /// The target of a redirect; empty if there is none.
    private(set) var redirectURL = ""
    /// The media type; nil if the head has none.
    private(set) var type: String?
    /// The media type without secrets.
    private(set) var shownType: String?
    /// Whether the body has a content coding.
    private(set) var isEncoded = false
    /// Whether the body has a content coding, or a transfer coding beside the chunks of HTTP/1.1.
    private(set) var isCoded = false

    /// Creates the fields of a request.
    init(request: HTTPHeaders, _ redaction: Redaction) {
        self.init(request, redaction) { fields, field, shown in
            guard field.name.utf8.count == 6, field.name.lowercased() == "cookie" else { return }
            fields.cookies += HARFormFields.cookies(field.value, hidden: Self.hidden(field, shown))
        }
    }

    /// Creates the fields of a response.
    init(response head: ResponseHead, _ redaction: Redaction) {
        self.init(head.headers, redaction) { fields, field, shown in
            switch field.name.utf8.count {
            case 8 where fields.redirectURL.isEmpty && field.name.lowercased() == "location": fields.redirectURL = shown
            case 10 where field.name.lowercased() == "set-cookie":
                let hidden = Self.hidden(field, shown)
                fields.cookies.append(HARFormFields.cookie(settingBy: field.value, hidden: hidden))
            default: break
            }
        }
        if head.bodyIsDecoded { (isEncoded, isCoded) = (false, false) }
    }

    /// - Parameter note: Notes what a field means in addition to its text. The last argument is the value without
    ///   secrets.
    private init(
        _ fields: HTTPHeaders, _ redaction: Redaction, note: (inout HARFields, HTTPHeader, String) -> Void
    ) {
        var list: [HTTPHeader] = []
        list.reserveCapacity(fields.count)
        for field in fields {
            let value = redaction.value(of: field)
            list.append(HTTPHeader(name: field.name, value: value))
            note(&self, field, value)
            noteCoding(field, shownAs: value)
        }
        shown = HTTPHeaders(list)
        json = HARWriter.json(of: shown)
    }

    /// Returns the text that takes the place of a cookie's value; nil if the values of the field are shown.
    private static func hidden(_ field: HTTPHeader, _ shown: String) -> String? {
        shown == field.value ? nil : Redaction.replacement
    }

    private mutating func noteCoding(_ field: HTTPHeader, shownAs value: String) {
        switch field.name.utf8.count {
        case 12 where type == nil && field.name.lowercased() == "content-type": (type, shownType) = (field.value, value)
        case 16 where field.name.lowercased() == "content-encoding":
            if field.value.lowercased() != "identity" { (isEncoded, isCoded) = (true, true) }
        case 17 where field.name.lowercased() == "transfer-encoding":
            if field.value.lowercased() != "chunked" { isCoded = true }
        default: break
        }
    }
}
