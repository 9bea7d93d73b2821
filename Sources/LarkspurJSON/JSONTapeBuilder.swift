/// A parser that writes the nodes of a document to a tape. It compares each position with `end` before it reads the
/// byte there, so it never reads beyond the text.
struct JSONTapeBuilder {
    /// The size of the largest document in bytes. Offsets have 32 bits.
    static let maximumSize = Int(UInt32.max) - 1

    /// An open array or object.
    private struct Frame {
        var start: Int
        var count = 0
        /// The bits that the keys' hashes select. A key whose bit is not set yet is new.
        var tags: UInt64 = 0
        var mayRepeat = false
        var isObject: Bool
    }

    let text: UnsafeBufferPointer<UInt8>
    let bytes: UnsafePointer<UInt8>
    let end: Int
    let duplicateKeys: JSON.DuplicateKeyPolicy

    var position = 0
    private var nodes: UnsafeMutablePointer<JSONNode>
    private(set) var count = 0
    private var capacity: Int
    private var depth = 0
    private let frames: UnsafeMutablePointer<Frame>

    /// Builds the tape of a document, and calls the closure with it. The tape is valid only during the call.
    static func withTape<Result>(
        of text: UnsafeBufferPointer<UInt8>, duplicateKeys: JSON.DuplicateKeyPolicy = .keepLast,
        _ body: (JSONTape, _ count: Int) -> Result
    ) throws(JSONError) -> Result {
        var builder = JSONTapeBuilder(text, duplicateKeys)
        defer { builder.free() }
        let tape = try builder.document()
        defer { JSONNodeMemory.give(tape.nodes, builder.capacity) }
        return body(tape, builder.count)
    }

    /// Builds the tape of a document. The caller owns the nodes.
    static func tape(of text: UnsafeBufferPointer<UInt8>) throws(JSONError) -> (tape: JSONTape, capacity: Int) {
        var builder = JSONTapeBuilder(text, .keepLast)
        defer { builder.free() }
        return (try builder.document(), builder.capacity)
    }

    private init(_ text: UnsafeBufferPointer<UInt8>, _ duplicateKeys: JSON.DuplicateKeyPolicy) {
        self.text = text
        end = text.count
        self.duplicateKeys = duplicateKeys
        (nodes, capacity) = JSONNodeMemory.take(end / 8 + 16)
        // An empty buffer may have no address. Nothing is read from it, so any address will do.
        bytes = text.baseAddress ?? UnsafeRawPointer(nodes).assumingMemoryBound(to: UInt8.self)
        frames = .allocate(capacity: JSON.maximumDepth + 1)
    }

    private func free() { frames.deallocate() }

    private mutating func document() throws(JSONError) -> JSONTape {
        do throws(JSONError) {
            guard end <= Self.maximumSize else {
                throw expected("a document of less than four gigabytes", .tooLarge)
            }
            if text.starts(with: ByteOrderMark.utf8) { position = ByteOrderMark.utf8.count }
            try values()
            skipWhitespace()
            guard position == end else { throw expected("the end of the text after the value") }
            return JSONTape(bytes: bytes, nodes: nodes)
        } catch {
            JSONNodeMemory.give(nodes, capacity)
            throw error
        }
    }

    /// The byte at `position`, or 0 at the end of the text.
    var current: UInt8 {
        @inline(__always) get { position < end ? bytes[position] : 0 }
    }

    // Never inlined: errors are rare, and their code would displace the hot path from the instruction cache.
    @inline(never)
    func expected(
        _ what: StaticString, _ reason: JSONError.Reason = .unexpectedCharacter, at offset: Int? = nil
    ) -> JSONError {
        JSONError(reason, at: offset ?? position, of: text, expected: what.description)
    }

    @inline(__always)
    private mutating func skipWhitespace() {
        while position < end, case let byte = bytes[position], byte <= 0x20,
            byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
        {
            position &+= 1
        }
    }

    @inline(__always)
    mutating func skip(_ byte: UInt8) -> Bool {
        guard position < end, bytes[position] == byte else { return false }
        position &+= 1
        return true
    }

    @inline(__always)
    mutating func append(_ node: JSONNode) {
        if count == capacity { grow() }
        (nodes + count).initialize(to: node)
        count &+= 1
    }

    @inline(never)
    private mutating func grow() {
        let larger = UnsafeMutablePointer<JSONNode>.allocate(capacity: 2 * capacity)
        larger.moveInitialize(from: nodes, count: count)
        nodes.deallocate()
        (nodes, capacity) = (larger, 2 * capacity)
    }

    /// Parses a value with all its contents. Does not recurse, so the stack cannot overflow.
    private mutating func values() throws(JSONError) {
        repeat {
            skipWhitespace()
            switch current {
            case UInt8(ascii: "\""): append(try string())
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): append(try number())
            case UInt8(ascii: "{"): if try open(.object, UInt8(ascii: "}")) { continue }
            case UInt8(ascii: "["): if try open(.array, UInt8(ascii: "]")) { continue }
            case UInt8(ascii: "t"): try word("true", .yes, "the value true")
            case UInt8(ascii: "f"): try word("false", .no, "the value false")
            case UInt8(ascii: "n"): try word("null", .null, "the value null")
            default: throw expected("a value")
            }
            try closeFinished()
        } while depth > 0
    }

    /// Closes arrays and objects whose end follows, up to one in which another value follows.
    @inline(__always)
    private mutating func closeFinished() throws(JSONError) {
        while depth > 0 {
            let frame = frames + (depth &- 1)
            frame.pointee.count &+= 1
            skipWhitespace()
            if frame.pointee.isObject {
                if skip(UInt8(ascii: ",")) { return try key(frame) }
                guard skip(UInt8(ascii: "}")) else { throw expected("\",\" or \"}\" after the member") }
                try closeObject(frame)
            } else {
                if skip(UInt8(ascii: ",")) { return }
                guard skip(UInt8(ascii: "]")) else { throw expected("\",\" or \"]\" after the element") }
            }
            let start = frame.pointee.start
            nodes[start].extra = UInt64(frame.pointee.count) << 32 | UInt64(count)
            depth &-= 1
        }
    }

    /// Opens an array or an object, and parses an object's first key. Returns false if it is empty.
    @inline(__always)
    private mutating func open(_ kind: JSONKind, _ closing: UInt8) throws(JSONError) -> Bool {
        guard depth < JSON.maximumDepth else {
            throw expected("a lower nesting of arrays and objects; see JSON.maximumDepth", .tooDeep)
        }
        let start = count
        append(JSONNode(kind, at: position, 0))
        if kind == .object { append(JSONNode(.null, at: 0, 0)) }
        position &+= 1
        skipWhitespace()
        if skip(closing) {
            nodes[start].extra = UInt64(count)
            return false
        }
        let frame = frames + depth
        frame.initialize(to: Frame(start: start, isObject: kind == .object))
        depth &+= 1
        if kind == .object { try key(frame) }
        return true
    }

    @inline(__always)
    private mutating func key(_ frame: UnsafeMutablePointer<Frame>) throws(JSONError) {
        skipWhitespace()
        guard current == UInt8(ascii: "\"") else { throw expected("a key in quotation marks") }
        var node = try string()
        let hash = JSONKeyHash.hash(bytes + node.offset, node.length)
        node.extra |= UInt64(hash) << 32
        let tag: UInt64 = 1 << UInt64(hash & 63)
        if node.kind != .plain {
            nodes[frame.pointee.start].head |= JSONNode.hasUnusualKeys
            frame.pointee.mayRepeat = true
        }
        if frame.pointee.tags & tag != 0 { frame.pointee.mayRepeat = true }
        frame.pointee.tags |= tag
        append(node)
        skipWhitespace()
        guard skip(UInt8(ascii: ":")) else { throw expected("\":\" after the key") }
    }

    @inline(__always)
    private mutating func closeObject(_ frame: UnsafeMutablePointer<Frame>) throws(JSONError) {
        guard frame.pointee.mayRepeat, frame.pointee.count > 1 else { return }
        let start = frame.pointee.start
        nodes[start].extra = UInt64(frame.pointee.count) << 32 | UInt64(count)
        let tape = JSONTape(bytes: bytes, nodes: nodes)
        guard let repeated = tape.markDuplicates(in: start), duplicateKeys == .refuse else { return }
        throw expected("each key of an object once", .duplicateKey, at: nodes[repeated].offset - 1)
    }

    private mutating func word(_ word: StaticString, _ kind: JSONKind, _ what: StaticString) throws(JSONError) {
        let start = position
        for index in 0..<word.utf8CodeUnitCount {
            guard skip(word.utf8Start[index]) else { throw expected(what) }
        }
        append(JSONNode(kind, at: start, 0))
    }
}
