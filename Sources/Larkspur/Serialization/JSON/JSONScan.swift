/// The state of one decoding: the options, the tape, and caches for error messages.
///
/// All changing state is in raw memory. Stored variables of a class would be checked for exclusive access at each use,
/// which costs half the speed of decoding. A scan is used by one thread at a time, like any decoder.
final class JSONScan {
    struct State {
        var bytes: UnsafePointer<UInt8>
        var ownsBytes = false
        /// The child that was found last in the open container of each depth, to find the path of a later child.
        var places: [Place] = []
        /// The last offset whose line was looked up.
        var line = JSONLine()
        /// The objects that are decoded as dictionaries, whose keys are not converted.
        var dictionaries: Set<Int> = []
    }

    /// A child of a container, for a walk to a later child.
    struct Place {
        var container: Int
        var child: Int
        var position: Int
    }

    let options: JSON.Decoder
    let convertsKeys: Bool
    let nodes: UnsafeMutablePointer<JSONNode>
    /// The path of the first node. It is not empty for a decoder of a missing superclass.
    let prefix: [any CodingKey]
    let textCount: Int
    private let capacity: Int
    let state: UnsafeMutablePointer<State>

    /// Creates a scan that owns the nodes of the tape.
    init(_ options: JSON.Decoder, _ tape: JSONTape, capacity: Int, textCount: Int, prefix: [any CodingKey] = []) {
        self.options = options
        if case .useDefaultKeys = options.keyDecodingStrategy { convertsKeys = false } else { convertsKeys = true }
        nodes = tape.nodes
        self.prefix = prefix
        self.textCount = textCount
        self.capacity = capacity
        state = .allocate(capacity: 1)
        state.initialize(to: State(bytes: tape.bytes))
    }

    deinit {
        JSONNodeMemory.give(nodes, capacity)
        if state.pointee.ownsBytes { state.pointee.bytes.deallocate() }
        state.deinitialize(count: 1)
        state.deallocate()
    }

    @inline(__always)
    var tape: JSONTape { JSONTape(bytes: state.pointee.bytes, nodes: nodes) }

    @inline(__always)
    func kind(_ index: Int) -> JSONKind { nodes[index].kind }

    /// Copies the text, because a decoder outlives the call that created it.
    func copyText() {
        let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: max(textCount, 1))
        copy.update(from: state.pointee.bytes, count: textCount)
        state.pointee.bytes = UnsafePointer(copy)
        state.pointee.ownsBytes = true
    }

    /// Returns a decoder of a null at this path: the decoder of a superclass that the document does not have.
    func missing(at path: [any CodingKey]) -> JSONNodeDecoder {
        let node = UnsafeMutablePointer<JSONNode>.allocate(capacity: 1)
        node.initialize(to: JSONNode(.null, at: 0, 0))
        let scan = JSONScan(
            options, JSONTape(bytes: UnsafeRawPointer(node).assumingMemoryBound(to: UInt8.self), nodes: node),
            capacity: 1,
            textCount: 0, prefix: path)
        return JSONNodeDecoder(scan, 0)
    }
}

/// A position in a text, to find the lines of later positions without counting from the start.
struct JSONLine {
    private var offset = 0
    private var number = 1
    private var start = 0

    /// Returns the line and the column in bytes of an offset, both counted from 1. Lines end with LF, CR or CRLF.
    mutating func locate(_ wanted: Int, in bytes: UnsafePointer<UInt8>, from first: Int) -> (line: Int, column: Int) {
        if wanted < start { self = JSONLine() }
        start = max(start, first)
        offset = max(offset, start)
        while offset < wanted {
            let byte = bytes[offset]
            offset += 1
            guard byte == 0x0A || byte == 0x0D else { continue }
            if byte == 0x0D, offset < wanted, bytes[offset] == 0x0A { offset += 1 }
            number += 1
            start = offset
        }
        if offset > wanted { offset = wanted }
        return (number, wanted - start + 1)
    }
}
