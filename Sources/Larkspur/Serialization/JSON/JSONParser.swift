/// Reads one JSON document from UTF-8 bytes.
///
/// It does not recurse: finished values wait on a stack of their own until the bracket that closes their container, so
/// no nesting can exhaust the thread's stack, and containers are made at their exact size. A position is compared with
/// `end` before its byte is read; beyond that nothing is checked twice, which is where the speed comes from.
struct JSONParser: ~Copyable {
    static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// A container whose closing bracket is still to come, and where its parts begin on the stacks.
    private struct OpenContainer {
        enum Kind { case array, object }

        let kind: Kind
        let firstValue: Int
        let firstKey: Int
    }

    // Immutable
    let text: UnsafeBufferPointer<UInt8>
    let end: Int
    private let maximumDepth: Int
    private let duplicateKeys: JSON.DuplicateKeyPolicy

    // Changing
    var position = 0
    /// The text of a string with escapes, while it is put together; kept for its storage.
    var unescaped: [UInt8] = []
    private var open: [OpenContainer] = []
    private var values = JSONParserStack<JSON>()
    var keys = JSONParserStack<Key>()

    init(_ text: UnsafeBufferPointer<UInt8>, maximumDepth: Int, duplicateKeys: JSON.DuplicateKeyPolicy) {
        self.text = text
        self.end = text.count
        self.maximumDepth = maximumDepth
        self.duplicateKeys = duplicateKeys
    }

    var isAtEnd: Bool { position == end }

    /// The byte at `position`, which must be before `end`.
    var current: UInt8 {
        @inline(__always) get { text[position] }
    }

    /// The whole document.
    mutating func document() throws(JSONError) -> JSON {
        if text.starts(with: Self.byteOrderMark) { position = Self.byteOrderMark.count }
        repeat {
            try valueOrOpening()
            try closings()
        } while !open.isEmpty
        skipWhitespace()
        guard isAtEnd else { throw expected("the end of the text after the value") }
        return values.popArray(from: 0)[0]
    }

    // Never inlined: errors are rare, and their making would crowd out the code that matters.
    @inline(never)
    func expected(
        _ what: StaticString, _ reason: JSONError.Reason = .unexpectedCharacter, at offset: Int? = nil
    ) -> JSONError {
        JSONError(reason, at: offset ?? position, of: text, expected: what.description)
    }

    @inline(__always)
    mutating func skipWhitespace() {
        while position < end, current == 0x20 || current == 0x0A || current == 0x0D || current == 0x09 {
            position &+= 1
        }
    }
}

// MARK: - Structure

extension JSONParser {
    /// Reads up to and including the next complete value; containers that begin on the way are opened.
    private mutating func valueOrOpening() throws(JSONError) {
        while true {
            skipWhitespace()
            guard position < end else { throw expected("a value") }
            switch current {
            case UInt8(ascii: "\""):
                position &+= 1
                values.push(.string(try string()))
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                values.push(.number(try number()))
            case UInt8(ascii: "["):
                try begin(.array)
                guard skip(UInt8(ascii: "]")) else { continue }
                endArray()
            case UInt8(ascii: "{"):
                try begin(.object)
                guard skip(UInt8(ascii: "}")) else {
                    try key("a key in quotation marks, or \"}\"")
                    continue
                }
                try endObject()
            case UInt8(ascii: "t"):
                try word("true", "the value true")
                values.push(.bool(true))
            case UInt8(ascii: "f"):
                try word("false", "the value false")
                values.push(.bool(false))
            case UInt8(ascii: "n"):
                try word("null", "the value null")
                values.push(.null)
            default:
                throw expected("a value")
            }
            return
        }
    }

    /// Reads what follows a value: brackets that close containers, then a comma if one is still open.
    private mutating func closings() throws(JSONError) {
        while let container = open.last {
            skipWhitespace()
            let byte = position < end ? current : 0
            switch (container.kind, byte) {
            case (.array, UInt8(ascii: ",")):
                position &+= 1
                return
            case (.object, UInt8(ascii: ",")):
                position &+= 1
                skipWhitespace()
                return try key("a key in quotation marks after the comma")
            case (.array, UInt8(ascii: "]")):
                position &+= 1
                endArray()
            case (.object, UInt8(ascii: "}")):
                position &+= 1
                try endObject()
            case (.array, _):
                throw expected("\",\" or \"]\" after the element")
            case (.object, _):
                throw expected("\",\" or \"}\" after the member")
            }
        }
    }

    private mutating func begin(_ kind: OpenContainer.Kind) throws(JSONError) {
        guard open.count < maximumDepth else {
            throw expected("fewer arrays and objects inside one another; see maximumDepth", .tooDeep)
        }
        open.append(OpenContainer(kind: kind, firstValue: values.count, firstKey: keys.count))
        position &+= 1
        skipWhitespace()
    }

    private mutating func endArray() {
        let container = open.removeLast()
        values.push(.array(values.popArray(from: container.firstValue)))
    }

    private mutating func endObject() throws(JSONError) {
        let container = open.removeLast()
        let count = keys.count - container.firstKey
        let mayHaveDuplicates = count > JSON.Object.searchLimit || mayHaveDuplicates(from: container.firstKey)
        let newValues = values.pop(from: container.firstValue)
        let newKeys = keys.pop(from: container.firstKey)
        guard mayHaveDuplicates else {
            var members: [JSON.Object.Member] = []
            members.reserveCapacity(count)
            for index in 0..<count {
                let key = (newKeys + index).move().text
                members.append(JSON.Object.Member(key: key, value: (newValues + index).move()))
            }
            values.push(.object(JSON.Object(distinct: members)))
            return
        }
        var object = JSON.Object()
        var duplicate: Int?
        for index in 0..<count {
            let key = (newKeys + index).move()
            object[adding: key.text] = (newValues + index).move()
            if object.count <= index, duplicate == nil { duplicate = key.offset }
        }
        values.push(.object(object))
        if let duplicate, duplicateKeys == .refuse {
            throw expected("each key of an object once", .duplicateKey, at: duplicate)
        }
    }

    @inline(__always)
    mutating func skip(_ byte: UInt8) -> Bool {
        guard position < end, current == byte else { return false }
        position &+= 1
        return true
    }

    private mutating func word(_ word: StaticString, _ what: StaticString) throws(JSONError) {
        for index in 0..<word.utf8CodeUnitCount {
            guard skip(word.utf8Start[index]) else { throw expected(what) }
        }
    }
}

// MARK: - Numbers

extension JSONParser {
    /// Reads a number, beginning at its minus sign or first digit.
    mutating func number() throws(JSONError) -> JSON.Number {
        let start = position
        let isNegative = skip(UInt8(ascii: "-"))
        let firstDigit = position
        var magnitude: Int64 = 0
        while position < end, current &- UInt8(ascii: "0") <= 9 {
            // May overflow, and is then not used.
            magnitude = magnitude &* 10 &+ Int64(current &- UInt8(ascii: "0"))
            position &+= 1
        }
        let digitCount = position - firstDigit
        guard digitCount > 0 else { throw expected("a digit", .malformedNumber) }
        guard digitCount == 1 || text[firstDigit] != UInt8(ascii: "0") else {
            throw expected("a number without leading zeros", .malformedNumber, at: firstDigit)
        }
        var isPlainInteger = true
        if skip(UInt8(ascii: ".")) {
            isPlainInteger = false
            try digits("a digit after the decimal point")
        }
        if position < end, current | 0x20 == UInt8(ascii: "e") {
            isPlainInteger = false
            position &+= 1
            if !skip(UInt8(ascii: "-")) { _ = skip(UInt8(ascii: "+")) }
            try digits("a digit in the exponent")
        }
        // Minus zero is left to Double, which has one.
        if isPlainInteger, digitCount <= 18, magnitude != 0 || !isNegative {
            return JSON.Number(isNegative ? -magnitude : magnitude)
        }
        return JSON.Number(checked: UnsafeBufferPointer(rebasing: text[start..<position]))
    }

    private mutating func digits(_ what: StaticString) throws(JSONError) {
        let start = position
        while position < end, current &- UInt8(ascii: "0") <= 9 { position &+= 1 }
        guard position > start else { throw expected(what, .malformedNumber) }
    }
}
