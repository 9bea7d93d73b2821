extension JSONOutput {
    /// Begins an element of an array. The frame must be the last one.
    @inline(__always)
    func beginElement(_ index: Int) {
        state.pointee.text.separate(state.pointee.frames[index].count, encoding.style, depth: state.pointee.depth)
    }

    /// Encodes an element or a member by the closure. If that fails, it is as if it had not been encoded.
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
        // A value that has been encoded as text is read again.
        let text = UnsafeBufferPointer(rebasing: state.pointee.text.buffer[earlier.value..<earlier.end])
        guard !state.pointee.children.contains(where: { (earlier.value...earlier.end).contains($0.offset) }),
            let value = try? JSON(data: Data(text))
        else { return nil }
        let encoder = last.output.begin()
        switch value {
        case .array(let elements) where kind == .array:
            _ = encoder.opened(.array)
            for element in elements {
                last.output.beginElement(0)
                _ = last.output.json(element)
                last.output.state.pointee.frames[0].count += 1
            }
        case .object(let members) where kind == .object:
            _ = encoder.opened(.object)
            for (key, member) in members {
                last.output.beginMember(key, 0)
                _ = last.output.json(member)
                last.output.endMember(0)
            }
        default: return encoder.opened(kind)
        }
        return encoder
    }
}
