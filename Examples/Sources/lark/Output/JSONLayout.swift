import Larkspur

/// JSON with one member or element on each line. Members keep their order, and numbers their digits.
struct JSONLayout {
    /// Objects and arrays at this depth are folded: `[… 12 elements]`.
    var depth = Int.max
    /// Further elements and members are counted, and not shown.
    var limit = Int.max
    private var text = ""

    static func text(of json: JSON, folding: Settings.Folding? = nil, rows: Int = .max) -> String {
        var layout = JSONLayout()
        switch folding {
        case nil: break
        case .below(let depth): layout.depth = depth
        case .toScreen: layout.fit(json, rows)
        }
        layout.write(json, at: 0)
        return layout.text
    }

    private init() {}

    /// Chooses the largest depth with which the text has no more lines than the screen.
    private mutating func fit(_ json: JSON, _ rows: Int) {
        guard Self.lines(of: json, depth: .max, upTo: rows) > rows else { return }
        depth = 1
        while Self.lines(of: json, depth: depth + 1, upTo: rows) <= rows { depth += 1 }
        if Self.lines(of: json, depth: depth, upTo: rows) > rows { limit = max(1, rows - 3) }
    }

    /// Counts lines, and stops when there are more than `bound`.
    private static func lines(of json: JSON, depth: Int, upTo bound: Int) -> Int {
        guard depth > 0 else { return 1 }
        var count = 2
        switch json {
        case .array(let elements) where !elements.isEmpty:
            for element in elements where count <= bound { count += lines(of: element, depth: depth - 1, upTo: bound) }
        case .object(let members) where !members.isEmpty:
            for (_, value) in members where count <= bound { count += lines(of: value, depth: depth - 1, upTo: bound) }
        default: return 1
        }
        return count
    }

    private mutating func write(_ json: JSON, at level: Int) {
        switch json {
        case .array(let elements) where !elements.isEmpty:
            if level >= depth { return text += "[… \(Self.count(elements.count, "element"))]" }
            writeList("[", "]", elements.count, "element", at: level) { layout, index in
                layout.write(elements[index], at: level + 1)
            }
        case .object(let members) where !members.isEmpty:
            if level >= depth { return text += "{… \(Self.count(members.count, "member"))}" }
            var position = members.startIndex
            writeList("{", "}", members.count, "member", at: level) { layout, _ in
                let (key, value) = members[position]
                position = members.index(after: position)
                layout.text += JSON.string(key).text() + ": "
                layout.write(value, at: level + 1)
            }
        default: text += json.text()
        }
    }

    private mutating func writeList(
        _ open: String, _ close: String, _ count: Int, _ noun: String, at level: Int,
        _ writeElement: (inout JSONLayout, Int) -> Void
    ) {
        let indent = String(repeating: "    ", count: level + 1)
        text += open + "\n"
        let shown = min(count, limit)
        for index in 0..<shown {
            text += indent
            writeElement(&self, index)
            text += index < count - 1 ? ",\n" : "\n"
        }
        if shown < count { text += "\(indent)… \(Self.count(count - shown, "more \(noun)"))\n" }
        text += indent.dropLast(4) + close
    }

    private static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
}
