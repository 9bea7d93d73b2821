/// The text of an encoded value. Values are written in the order in which they are encoded, so there is no tree of
/// them.
///
/// A nested container or super encoder can be filled after later members. It writes to a child output. `finish` inserts
/// the child's text.
///
/// All changing state is in raw memory, as in `JSONScan`. An output is used by one thread at a time.
final class JSONOutput {
    /// A value whose encoding has begun.
    struct Frame {
        enum Kind { case none, scalar, array, object }
        /// Tells this frame from an earlier one at the same depth.
        let id: UInt32
        /// The offset of the value's text.
        let start: Int
        var kind = Kind.none
        /// Whether the value is a dictionary with strings as keys. Those are data, and are not converted.
        var keepsKeys = false
        /// The number of elements or members.
        var count = 0
        /// The key of the member that is encoded.
        var key: (any CodingKey)?
        /// The index of the first member in `State.members`.
        var firstMember = 0
        /// The bits that the keys' hashes select. A key whose bit is not set yet is new.
        var tags: UInt64 = 0
        var mayRepeat = false
    }

    /// The offsets of a member's key, its value, and the byte behind its value.
    struct Member { var key, value, end: Int }

    /// An output whose text belongs at an offset of this output.
    struct Child {
        var offset: Int
        let output: JSONOutput
    }

    struct State {
        var text = JSONText()
        var frames: [Frame] = []
        var members: [Member] = []
        var children: [Child] = []
        /// The number of arrays and objects around the next value.
        var depth: Int
        var lastID: UInt32 = 0
        var isTooDeep = false
    }

    /// The maximum nesting, as in Foundation.
    static let maximumDepth = 512

    let encoding: JSONEncoding
    private let prefix: [any CodingKey]
    let state: UnsafeMutablePointer<State>

    /// - Parameter prefix: The path of the value.
    init(_ encoding: JSONEncoding, prefix: [any CodingKey] = [], depth: Int = 0) {
        (self.encoding, self.prefix) = (encoding, prefix)
        state = .allocate(capacity: 1)
        state.initialize(to: State(depth: depth))
    }

    deinit {
        state.pointee.text.free()
        state.deinitialize(count: 1)
        state.deallocate()
    }

    /// Returns the path of the value whose frame is at the position.
    func path(to frame: Int) -> [any CodingKey] {
        var path = prefix
        for frame in state.pointee.frames.prefix(frame) {
            if frame.kind == .array { path.append(JSONKey(intValue: frame.count)) }
            if let key = frame.key { path.append(key) }
        }
        return path
    }

    // MARK: Frames

    /// Begins a value, and returns its encoder.
    func begin(keepsKeys: Bool = false) -> JSONValueEncoder {
        state.pointee.lastID &+= 1
        let frame = Frame(id: state.pointee.lastID, start: state.pointee.text.count, keepsKeys: keepsKeys)
        state.pointee.frames.append(frame)
        return JSONValueEncoder(self, UInt32(truncatingIfNeeded: state.pointee.frames.count - 1), frame.id)
    }

    /// Ends the last value that has begun. A value that has encoded nothing is an empty object.
    func end() {
        let last = state.pointee.frames.count - 1
        if state.pointee.frames[last].kind == .none { open(.object, last) }
        close(last)
        state.pointee.frames.removeLast()
    }

    /// Opens an array or an object as the value of a frame. An earlier value of the frame is removed.
    func open(_ kind: Frame.Kind, _ index: Int) {
        reset(index)
        state.pointee.frames[index].kind = kind
        state.pointee.frames[index].firstMember = state.pointee.members.count
        if state.pointee.depth >= Self.maximumDepth { state.pointee.isTooDeep = true }
        state.pointee.text.append(UInt8(ascii: kind == .array ? "[" : "{"))
        state.pointee.depth += 1
    }

    private func close(_ index: Int) {
        let kind = state.pointee.frames[index].kind
        guard kind == .array || kind == .object else { return }
        state.pointee.depth -= 1
        if kind == .object { finishMembers(index) }
        let bracket = kind == .array ? UInt8(ascii: "]") : UInt8(ascii: "}")
        let (isEmpty, depth) = (state.pointee.frames[index].count == 0, state.pointee.depth)
        state.pointee.text.close(bracket, isEmpty: isEmpty, encoding.style, depth: depth)
    }

    /// Removes what a frame has encoded so far. The last value counts.
    func reset(_ index: Int) {
        guard state.pointee.frames[index].kind != .none else { return }
        let frame = state.pointee.frames[index]
        if frame.kind != .scalar {
            state.pointee.depth -= 1
            state.pointee.members.removeSubrange(frame.firstMember...)
        }
        removeText(from: frame.start)
        state.pointee.frames[index] = Frame(id: frame.id, start: frame.start, keepsKeys: frame.keepsKeys)
    }

    private func removeText(from offset: Int) {
        state.pointee.text.truncate(to: offset)
        // A child at the offset itself is the element or member before the removed text.
        while let last = state.pointee.children.last, last.offset > offset { state.pointee.children.removeLast() }
    }

    /// Removes the open frames and the text of a failed element or member.
    func undo(to index: Int, _ offset: Int, _ members: Int, depth: Int) {
        state.pointee.frames.removeSubrange((index + 1)...)
        state.pointee.members.removeSubrange(members...)
        state.pointee.depth = depth
        removeText(from: offset)
    }

    // MARK: Children

    /// Adds an output for a value at the end of the text.
    func addChild(at index: Int) -> JSONOutput {
        let child = JSONOutput(encoding, prefix: path(to: index + 1), depth: state.pointee.depth)
        state.pointee.children.append(Child(offset: state.pointee.text.count, output: child))
        return child
    }

    /// Ends all values, and appends the text to another one.
    func finish(into result: inout JSONText) throws {
        while !state.pointee.frames.isEmpty { end() }
        guard !state.pointee.isTooDeep else { throw tooDeep() }
        try append(0, state.pointee.text.count, to: &result)
    }

    /// Appends a part of the text to another one, with the texts of the children in it.
    func append(_ start: Int, _ end: Int, to result: inout JSONText) throws {
        var start = start
        let first = firstChild(from: start)
        for child in state.pointee.children[first...].prefix(while: { $0.offset <= end }) {
            result.append(UnsafeBufferPointer(rebasing: state.pointee.text.buffer[start..<child.offset]))
            try child.output.finish(into: &result)
            start = child.offset
        }
        result.append(UnsafeBufferPointer(rebasing: state.pointee.text.buffer[start..<end]))
    }

    /// Returns the index of the first child at the offset or behind it.
    func firstChild(from offset: Int) -> Int { Self.first(in: state.pointee.children, from: offset) }

    /// Returns the index of the first child at the offset or behind it in a list that is sorted by offset.
    static func first(in children: [Child], from offset: Int) -> Int {
        var (low, high) = (0, children.count)
        while low < high {
            let middle = (low + high) / 2
            if children[middle].offset < offset { low = middle + 1 } else { high = middle }
        }
        return low
    }

    @inline(never)
    func tooDeep() -> EncodingError {
        let description =
            "the value is nested deeper than \(Self.maximumDepth) levels, or than \(JSON.maximumDepth) in an array or "
            + "object that several containers encode"
        return .invalidValue(
            Self.maximumDepth, .init(codingPath: path(to: state.pointee.frames.count), debugDescription: description))
    }
}
