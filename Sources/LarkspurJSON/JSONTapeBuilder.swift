internal import CLarkspur

/// Builds the tape of a document with the parser of `CLarkspur`, which writes the nodes. The parser does not know
/// strings as Swift compares them, so this type looks for duplicate keys.
struct JSONTapeBuilder {
    /// The size of the largest document in bytes. Offsets have 32 bits.
    static let maximumSize = Int(UInt32.max) - 1

    private let text: UnsafeBufferPointer<UInt8>
    private let duplicateKeys: JSON.DuplicateKeyPolicy
    private var parser = clarkspur_json_parser()

    /// Builds the tape of a document, and calls the closure with it. The tape is valid only during the call.
    static func withTape<Result>(
        of text: UnsafeBufferPointer<UInt8>, duplicateKeys: JSON.DuplicateKeyPolicy = .keepLast,
        _ body: (JSONTape, _ count: Int) -> Result
    ) throws(JSONError) -> Result {
        var builder = JSONTapeBuilder(text, duplicateKeys)
        let tape = try builder.document()
        defer { JSONNodeMemory.give(tape.nodes, builder.parser.node_capacity) }
        return body(tape, builder.parser.node_count)
    }

    /// Builds the tape of a document. The caller owns the nodes.
    static func tape(of text: UnsafeBufferPointer<UInt8>) throws(JSONError) -> (tape: JSONTape, capacity: Int) {
        var builder = JSONTapeBuilder(text, .keepLast)
        return (try builder.document(), builder.parser.node_capacity)
    }

    private init(_ text: UnsafeBufferPointer<UInt8>, _ duplicateKeys: JSON.DuplicateKeyPolicy) {
        self.text = text
        self.duplicateKeys = duplicateKeys
        (parser.nodes, parser.node_capacity) = JSONNodeMemory.take(text.count / 8 + 16)
        // An empty buffer may have no address. Nothing is read from it, so any address will do.
        parser.bytes = text.baseAddress ?? UnsafeRawPointer(parser.nodes).assumingMemoryBound(to: UInt8.self)
        parser.count = text.count
        parser.maximum_depth = JSON.maximumDepth
    }

    private mutating func document() throws(JSONError) -> JSONTape {
        parser.frames = .allocate(capacity: JSON.maximumDepth + 1)
        defer { parser.frames.deallocate() }
        do throws(JSONError) {
            guard text.count <= Self.maximumSize else {
                throw fault("a document of less than four gigabytes", .tooLarge, at: 0)
            }
            if text.starts(with: ByteOrderMark.utf8) { parser.position = ByteOrderMark.utf8.count }
            try value()
            let rest = text.count - parser.position
            parser.position += clarkspur_json_space_count(parser.bytes + parser.position, rest)
            guard parser.position == text.count else {
                throw fault("the end of the text after the value", at: parser.position)
            }
            return tape
        } catch {
            JSONNodeMemory.give(parser.nodes, parser.node_capacity)
            throw error
        }
    }

    private var tape: JSONTape { JSONTape(bytes: parser.bytes, nodes: parser.nodes) }

    private mutating func value() throws(JSONError) {
        while true {
            switch clarkspur_json_parse(&parser) {
            case clarkspur_json_ended: return
            case clarkspur_json_needs_nodes: grow()
            case clarkspur_json_may_repeat:
                guard let repeated = tape.markDuplicates(in: parser.object), duplicateKeys == .refuse else { continue }
                throw fault("each key of an object once", .duplicateKey, at: parser.nodes[repeated].offset - 1)
            case let state: throw fault(of: state)
            }
        }
    }

    private mutating func grow() {
        let (count, capacity) = (parser.node_count, parser.node_capacity)
        let larger = UnsafeMutablePointer<JSONNode>.allocate(capacity: 2 * capacity)
        larger.moveInitialize(from: parser.nodes, count: count)
        parser.nodes.deallocate()
        (parser.nodes, parser.node_capacity) = (larger, 2 * capacity)
    }
}

extension JSONTapeBuilder {
    private func fault(
        _ expected: StaticString, _ reason: JSONError.Reason = .unexpectedCharacter, at offset: Int
    ) -> JSONError {
        JSONError(reason, at: offset, of: text, expected: expected.description)
    }

    /// Returns the error for a state in which the parser has stopped.
    private func fault(of state: clarkspur_json_state) -> JSONError {
        let (expected, reason) = Self.fault(of: state)
        return fault(expected, reason, at: parser.position)
    }

    private static func fault(of state: clarkspur_json_state) -> (expected: StaticString, JSONError.Reason) {
        switch state {
        case clarkspur_json_expected_true: ("the value true", .unexpectedCharacter)
        case clarkspur_json_expected_false: ("the value false", .unexpectedCharacter)
        case clarkspur_json_expected_null: ("the value null", .unexpectedCharacter)
        case clarkspur_json_expected_key: ("a key in quotation marks", .unexpectedCharacter)
        case clarkspur_json_expected_colon: ("\":\" after the key", .unexpectedCharacter)
        case clarkspur_json_expected_member_end: ("\",\" or \"}\" after the member", .unexpectedCharacter)
        case clarkspur_json_expected_element_end: ("\",\" or \"]\" after the element", .unexpectedCharacter)
        case clarkspur_json_expected_digit: ("a digit", .malformedNumber)
        case clarkspur_json_expected_fraction: ("a digit after the decimal point", .malformedNumber)
        case clarkspur_json_expected_exponent: ("a digit in the exponent", .malformedNumber)
        case clarkspur_json_leading_zero: ("a number without leading zeros", .malformedNumber)
        case clarkspur_json_expected_quotation_mark: ("the string's closing quotation mark", .unexpectedCharacter)
        case clarkspur_json_control_character:
            ("control characters in strings to be escaped", .controlCharacter)
        case clarkspur_json_malformed_escape: ("one of \"\\/bfnrtu after the backslash", .malformedEscape)
        case clarkspur_json_expected_hexadecimal: ("four hexadecimal digits after \\u", .malformedEscape)
        case clarkspur_json_lone_surrogate: ("both halves of a surrogate pair", .loneSurrogate)
        case clarkspur_json_malformed_utf8: ("a string in UTF-8", .malformedUTF8)
        case clarkspur_json_too_deep:
            ("a lower nesting of arrays and objects; see JSON.maximumDepth", .tooDeep)
        default: ("a value", .unexpectedCharacter)
        }
    }
}
