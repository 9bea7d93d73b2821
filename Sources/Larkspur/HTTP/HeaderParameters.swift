extension StringProtocol {
    /// The field's value without parameters, in lower case: `text/html` for `Text/HTML; charset=utf-8`.
    var essence: String { prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased() }

    /// The field's parameters by lower-case name (RFC 6266). Of several with the same name, the first counts.
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

    /// The non-empty elements of a comma-separated value.
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
            // Only quotes and backslashes are escaped. Other backslashes are path separators of Windows file names.
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
