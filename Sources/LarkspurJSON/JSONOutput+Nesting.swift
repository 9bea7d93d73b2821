extension JSONOutput {
    /// Begins an element of an array. The frame must be the last one.
    @inline(__always)
    func beginElement(_ index: Int) {
        state.pointee.text.separate(state.pointee.frames[index].count, encoding.style, depth: state.pointee.depth)
    }

    /// Encodes an element or a member by the closure. On an error, removes everything that the closure has written.
    @inline(__always)
    func undoing(_ index: Int, _ encode: (JSONOutput, Int) throws -> Void) throws {
        let (offset, depth) = (state.pointee.text.count, state.pointee.depth)
        let members = state.pointee.members.count
        do { try encode(self, index) } catch {
            undo(to: index, offset, members, depth: depth)
            throw error
        }
    }

    /// Continues the array or object of an earlier member in the place of the last one, which has just begun; nil if
    /// the earlier member has another type.
    func continued(_ earlier: Member, _ kind: Frame.Kind, _ index: Int) -> JSONValueEncoder? {
        guard let last = state.pointee.children.last else { return nil }
        if let child = state.pointee.children.first(where: { $0.offset == earlier.value }), earlier.end == earlier.value
        {
            guard let frame = child.output.state.pointee.frames.first, frame.kind == kind else { return nil }
            // The child gets the place of the last member, whose value counts.
            state.pointee.children[state.pointee.children.count - 1] = Child(offset: last.offset, output: child.output)
            state.pointee.children.removeAll { $0.output === child.output && $0.offset == earlier.value }
            return JSONValueEncoder(child.output, 0, frame.id)
        }
        let value = parsed(kind, earlier.value, earlier.end)
        let encoder = last.output.begin().opened(kind)
        last.output.fill(0, with: value)
        return encoder
    }

    /// Opens an array or an object as the value of a frame. If the frame has one of this type already, which was
    /// encoded as a single value, that is continued.
    func reopen(_ kind: Frame.Kind, _ index: Int) {
        let value = parsed(kind, state.pointee.frames[index].start, state.pointee.text.count)
        open(kind, index)
        fill(index, with: value)
    }

    /// Returns an array or an object that has been encoded as text; null if the text has another type.
    private func parsed(_ kind: Frame.Kind, _ start: Int, _ end: Int) -> JSON {
        let bracket = kind == .array ? UInt8(ascii: "[") : UInt8(ascii: "{")
        guard start < end, state.pointee.text.bytes[start] == bracket else { return .null }
        var text = JSONText()
        defer { text.free() }
        do {
            try append(start, end, to: &text)
            return try JSON(data: Data(text.buffer))
        } catch {
            // The text is valid JSON, so it can only be too deep. Its contents must not be lost without an error.
            state.pointee.isTooDeep = true
            return .null
        }
    }

    /// Encodes the contents of an array or an object into an open frame of the same type.
    private func fill(_ index: Int, with value: JSON) {
        for element in value.array ?? [] {
            beginElement(index)
            _ = json(element)
            state.pointee.frames[index].count &+= 1
        }
        for (key, member) in value.object ?? [:] {
            beginMember(key, index)
            _ = json(member)
            endMember(index)
        }
    }
}
