extension StringProtocol {
    /// A field's value without its parameters, in lower case: `text/html` of `Text/HTML; charset=utf-8`.
    var essence: String { prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased() }

    /// A field's parameters by their names in lower case, as RFC 6266 has them; of several with one name, the first.
    var parameters: [String: String] {
        var result: [String: String] = [:]
        var rest = Substring(self).drop { $0 != ";" }.dropFirst()
        while !rest.isEmpty {
            let name = rest.prefix { $0 != "=" && $0 != ";" }
            rest = rest.dropFirst(name.count)
            guard rest.first == "=" else {
                rest = rest.dropFirst()
                continue
            }
            rest = rest.dropFirst().drop { $0 == " " || $0 == "\t" }
            let value = rest.takeValue()
            rest = rest.drop { $0 != ";" }.dropFirst()
            let key = name.trimmingCharacters(in: .whitespaces).lowercased()
            result[key] = result[key] ?? value
        }
        return result
    }

    /// The words between a field's commas, none of them empty.
    package var listed: [String] {
        split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }
}

extension Substring {
    fileprivate mutating func takeValue() -> String {
        guard first == "\"" else {
            let token = prefix { $0 != ";" }
            self = dropFirst(token.count)
            return token.trimmingCharacters(in: .whitespaces)
        }
        var value = ""
        self = dropFirst()
        while let character = popFirst(), character != "\"" {
            // Escaped are quotes and backslashes; what is in front of anything else was meant for a folder.
            if character == "\\", let next = first, next == "\"" || next == "\\" {
                value.append(next)
                self = dropFirst()
            } else {
                value.append(character)
            }
        }
        return value
    }
}
