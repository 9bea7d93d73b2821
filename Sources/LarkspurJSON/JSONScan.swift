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
        /// The lines that were looked up.
        var lines = JSONLines()
        /// The objects that are being decoded as dictionaries, whose keys are not converted in coding paths.
        var dictionaries: Set<Int> = []
        var makers = JSONContainerMakers()
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
        node.initialize(to: JSONNode())  // a null
        let scan = JSONScan(
            options, JSONTape(bytes: UnsafeRawPointer(node).assumingMemoryBound(to: UInt8.self), nodes: node),
            capacity: 1,
            textCount: 0, prefix: path)
        return JSONNodeDecoder(scan, 0)
    }
}

/// The lines of a text. Known positions make it cheap to find the line of any offset, in any order.
struct JSONLines {
    private struct Position {
        var offset: Int
        var number = 1
        /// The offset of the line.
        var start: Int

        /// Reads a byte. Lines end with LF, CR or CRLF.
        mutating func read(_ byte: UInt8, after last: UInt8) {
            offset += 1
            guard byte == 0x0A || byte == 0x0D else { return }
            if byte == 0x0D || last != 0x0D { number += 1 }
            start = offset
        }
    }

    /// The number of bytes between two known positions. A known position for each line would take more memory than
    /// a text with many lines.
    static let distance = 4_096
    private var known: [Position] = []

    /// Returns the line and the column in bytes of an offset, both counted from 1. The text begins at `first`.
    mutating func locate(_ wanted: Int, in bytes: UnsafePointer<UInt8>, from first: Int) -> (line: Int, column: Int) {
        if known.isEmpty { known = [Position(offset: first, start: first)] }
        var (low, high) = (0, known.count - 1)
        while low < high {
            let middle = (low + high + 1) / 2
            if known[middle].offset <= wanted { low = middle } else { high = middle - 1 }
        }
        var position = known[low]
        while position.offset < wanted {
            position.read(bytes[position.offset], after: position.offset > first ? bytes[position.offset - 1] : 0)
            if position.offset - known[known.count - 1].offset >= Self.distance { known.append(position) }
        }
        return (position.number, wanted - position.start + 1)
    }
}
