internal import CLarkspur

/// The kind of a node, as in `json.h`. Strings have three kinds, so that a reader knows without a search what a string
/// needs.
enum JSONKind: UInt8 {
    case null, no, yes
    /// An integer of at most 18 digits. The node has its value.
    case integer
    /// A number with a fraction and at most 15 significant digits. The node has the nearest `Double`.
    case double
    /// Any other number. The node has the length of its text.
    case number
    /// A string in ASCII without escapes.
    case plain
    /// A string in UTF-8 without escapes, with at least one character beyond ASCII.
    case unicode
    /// A string with escapes.
    case escaped
    case array, object
}

/// A value or a key of a document, as an entry of a tape. The header `json.h` describes nodes.
///
/// A tape has the nodes of a document in the order of the text. An array is one node, followed by its elements. An
/// object is two nodes, followed by a key node and a value for each member. The object's second node has the number of
/// the object's shape, and is scratch space of the decoder.
typealias JSONNode = clarkspur_json_node

extension JSONNode {
    /// In an object: a key occurs twice.
    @inline(__always) static var hasDuplicates: UInt64 { UInt64(clarkspur_json_has_duplicates) }
    /// In an object: a key has escapes or characters beyond ASCII, so that keys with different bytes can be equal.
    @inline(__always) static var hasUnusualKeys: UInt64 { UInt64(clarkspur_json_has_unusual_keys) }
    /// In a key: the same key occurs again in the object, and that value counts.
    @inline(__always) static var isShadowed: UInt64 { UInt64(clarkspur_json_is_shadowed) }

    // A cast and not `init(rawValue:)`, which the compiler does not inline. Only the parser sets these bits.
    @inline(__always) var kind: JSONKind { unsafeBitCast(UInt8(truncatingIfNeeded: head), to: JSONKind.self) }
    @inline(__always) var offset: Int { Int(truncatingIfNeeded: head >> 32) }
    @inline(__always) var length: Int { Int(truncatingIfNeeded: extra & 0xFFFF_FFFF) }
    @inline(__always) var end: Int { Int(truncatingIfNeeded: extra & 0xFFFF_FFFF) }
    @inline(__always) var count: Int { Int(truncatingIfNeeded: extra >> 32) }
    @inline(__always) func has(_ flag: UInt64) -> Bool { head & flag != 0 }

    /// In an object's second node: the number of the shape, or 0 if the object has none. Objects of the same shape have
    /// the same keys with the same bytes in the same order, each key once.
    @inline(__always) var shape: Int { Int(truncatingIfNeeded: head >> 32) }
    /// In an object's second node: the index of the key that the decoder expects next, or 0 for the first one.
    @inline(__always) var expectedKey: Int {
        get { Int(truncatingIfNeeded: head & 0xFFFF_FFFF) }
        set { head = head & ~0xFFFF_FFFF | UInt64(truncatingIfNeeded: newValue) }
    }
}

/// A view of a document's text and nodes. The text and the nodes must outlive the view.
///
/// Nodes come only from `JSONTapeBuilder`, which checks each offset and length, so that readers need not check them.
struct JSONTape {
    let bytes: UnsafePointer<UInt8>
    let nodes: UnsafeMutablePointer<JSONNode>

    @inline(__always)
    func text(of node: JSONNode) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: bytes + node.offset, count: node.length)
    }

    /// Returns the index of the node behind the value.
    @inline(__always)
    func index(after value: Int) -> Int {
        let node = nodes[value]
        return node.kind.rawValue >= JSONKind.array.rawValue ? node.end : value + 1
    }

    /// Returns the text of a string or a key.
    @inline(__always)
    func string(_ index: Int) -> String {
        let node = nodes[index]
        return node.kind == .escaped ? unescaped(node) : checked(text(of: node), isASCII: node.kind == .plain)
    }

    @inline(never)
    private func unescaped(_ node: JSONNode) -> String {
        let text = text(of: node)
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: text.count) { output in
            let count = JSONEscapes.decode(text, into: output)
            return checked(UnsafeBufferPointer(rebasing: output[..<count]), isASCII: false)
        }
    }

    /// Returns a string of UTF-8 that the builder has checked. It is not checked again where the system allows that.
    @inline(__always)
    private func checked(_ text: UnsafeBufferPointer<UInt8>, isASCII: Bool) -> String {
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            return String(copying: UTF8Span(unchecked: text.span, isKnownASCII: isASCII))
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the text of a number.
    func digits(_ index: Int) -> UnsafeBufferPointer<UInt8> {
        let node = nodes[index]
        let count = node.kind == .number ? node.length : Int(truncatingIfNeeded: node.head >> 16 & 0xFFFF)
        return UnsafeBufferPointer(start: bytes + node.offset, count: count)
    }
}

/// The memory of tapes. One piece is kept for the next tape: the system would otherwise take large pieces back and
/// clear them each time, which costs as much as parsing.
enum JSONNodeMemory {
    /// The largest piece that is kept, in nodes. It has 256 KiB, enough for a text of about 130 KB.
    private static let keptCapacity = 1 << 14
    /// The address and the capacity of the kept piece; 0 if there is none.
    private static let spare = Protected((address: UInt(0), capacity: 0))

    /// Returns memory for at least so many nodes, and its capacity.
    static func take(_ wanted: Int) -> (nodes: UnsafeMutablePointer<JSONNode>, capacity: Int) {
        let capacity = max(wanted, 64)
        // A short text gets memory of its own, so that it does not take the large piece from a long text.
        if (1 << 10...keptCapacity).contains(capacity) {
            let kept = spare.withLock { spare in
                defer { if spare.capacity >= capacity { spare = (0, 0) } }
                return spare
            }
            if kept.capacity >= capacity, let nodes = UnsafeMutablePointer<JSONNode>(bitPattern: kept.address) {
                return (nodes, kept.capacity)
            }
            return (.allocate(capacity: keptCapacity), keptCapacity)
        }
        return (.allocate(capacity: capacity), capacity)
    }

    /// Gives back memory that `take` has returned or that has replaced it.
    static func give(_ nodes: UnsafeMutablePointer<JSONNode>, _ capacity: Int) {
        guard capacity == keptCapacity else { return nodes.deallocate() }
        let isKept = spare.withLock { spare in
            guard spare.address == 0 else { return false }
            spare = (UInt(bitPattern: nodes), capacity)
            return true
        }
        if !isKept { nodes.deallocate() }
    }
}
