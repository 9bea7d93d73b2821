/// The format of written JSON.
struct JSONTextStyle {
    var isPretty = false
    var isSorted = false
    var escapesSlashes = false
    /// Whether the format is that of Foundation: keys are sorted by their bytes, a space precedes each colon of pretty
    /// text, and an empty line is between the brackets of empty arrays and objects.
    var isFoundation = false
    /// The maximum nesting of arrays and objects.
    var maximumDepth = Int.max

    /// The text between a key and its value.
    var colon: StaticString { !isPretty ? ":" : isFoundation ? " : " : ": " }

    /// Returns whether Foundation sorts one key before the other: by their bytes, without normalisation.
    static func precedes(_ left: String, _ right: String) -> Bool { left.utf8.lexicographicallyPrecedes(right.utf8) }
}

extension JSONText {
    /// Appends a value. Returns false if it is deeper than the style allows.
    mutating func append(_ value: JSON, _ style: JSONTextStyle, depth: Int = 0) -> Bool {
        switch value {
        case .null: append("null")
        case .bool(let value): append(value)
        case .number(let number): append(number.description)
        case .string(let text): appendString(text, escapesSlashes: style.escapesSlashes)
        case .array(let elements):
            guard depth < style.maximumDepth else { return false }
            append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                separate(index, style, depth: depth + 1)
                guard append(element, style, depth: depth + 1) else { return false }
            }
            close(UInt8(ascii: "]"), isEmpty: elements.isEmpty, style, depth: depth)
        case .object(let object):
            guard depth < style.maximumDepth else { return false }
            append(UInt8(ascii: "{"))
            let isWritten =
                style.isSorted
                ? append(
                    members: object.sorted {
                        style.isFoundation ? JSONTextStyle.precedes($0.key, $1.key) : $0.key < $1.key
                    }, style, depth: depth + 1)
                : append(members: object, style, depth: depth + 1)
            guard isWritten else { return false }
            close(UInt8(ascii: "}"), isEmpty: object.isEmpty, style, depth: depth)
        }
        return true
    }

    private mutating func append(
        members: some Sequence<(key: String, value: JSON)>, _ style: JSONTextStyle, depth: Int
    ) -> Bool {
        for (index, (key, value)) in members.enumerated() {
            separate(index, style, depth: depth)
            appendString(key, escapesSlashes: style.escapesSlashes)
            append(style.colon)
            guard append(value, style, depth: depth) else { return false }
        }
        return true
    }

    /// Begins the element or member with this index.
    @inline(__always)
    mutating func separate(_ index: Int, _ style: JSONTextStyle, depth: Int) {
        if index > 0 { append(UInt8(ascii: ",")) }
        if style.isPretty { appendLine(depth: depth) }
    }

    @inline(__always)
    mutating func close(_ bracket: UInt8, isEmpty: Bool, _ style: JSONTextStyle, depth: Int) {
        if style.isPretty {
            if isEmpty && style.isFoundation { append(0x0A) }
            if !isEmpty || style.isFoundation { appendLine(depth: depth) }
        }
        append(bracket)
    }
}
