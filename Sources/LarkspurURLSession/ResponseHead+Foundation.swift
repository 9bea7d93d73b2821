extension ResponseHead {
    /// Creates a head from Foundation's, which has neither the version nor the order of the fields and their repeats.
    ///
    /// - Parameter bodyIsDecoded: Whether the body is delivered without its content coding. Nil means if `URLSession`
    ///   removes the coding that the head names.
    package init(_ response: HTTPURLResponse, bodyIsDecoded: Bool? = nil) {
        var fields: [HTTPHeader] = []
        // The order of a field's values matters, that of the fields does not.
        let sorted = response.allHeaderFields.map { ("\($0.key)", "\($0.value)") }
            .sorted { $0.0.lowercased() < $1.0.lowercased() }
        for (name, value) in sorted {
            let isCookie = name.lowercased() == "set-cookie"
            for value in isCookie ? Self.cookies(in: value) : [value] {
                fields.append(HTTPHeader(name: name, value: value))
            }
        }
        let coding = response.value(forHTTPHeaderField: "Content-Encoding")?.lowercased() ?? ""
        let codings = coding.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        self.init(
            status: response.statusCode, version: "HTTP", fields: fields,
            bodyIsDecoded: bodyIsDecoded ?? (!codings.isEmpty && codings.allSatisfy(Self.decodedCodings.contains)))
    }

    /// The codings that `URLSession` removes without being asked.
    private static let decodedCodings: Set<String> = ["gzip", "x-gzip", "deflate", "br"]

    /// Returns the cookies of several `Set-Cookie` fields that Foundation has joined with commas.
    ///
    /// A comma separates two cookies if a name and `=` follow it. The comma in a date is followed by a number.
    static func cookies(in joined: String) -> [String] {
        var cookies: [String] = []
        var rest = Substring(joined)
        var start = rest.startIndex
        while let comma = rest.firstIndex(of: ",") {
            rest = rest[rest.index(after: comma)...]
            let next = rest.drop { $0 == " " }
            let name = next.prefix { $0 != "=" && $0 != ";" && $0 != "," && $0 != " " }
            guard !name.isEmpty, next[name.endIndex...].first == "=" else { continue }
            cookies.append(joined[start..<comma].trimmingCharacters(in: .whitespaces))
            start = next.startIndex
        }
        return cookies + [joined[start...].trimmingCharacters(in: .whitespaces)]
    }
}
