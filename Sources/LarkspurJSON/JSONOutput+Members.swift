extension JSONOutput {
    /// The maximum number of members whose keys are compared in pairs to find duplicates.
    private static let pairLimit = 64

    /// Begins a member. The frame must be the last one.
    @inline(__always)
    func beginMember(_ name: String, _ index: Int) {
        state.pointee.text.separate(
            state.pointee.frames[index].count, encoding.style, depth: state.pointee.depth)
        let offset = state.pointee.text.count
        state.pointee.text.appendString(name, escapesSlashes: encoding.style.escapesSlashes)
        if !state.pointee.frames[index].keepsKeys { noteKey(offset, index) }
        state.pointee.text.append(encoding.style.colon)
        let value = state.pointee.text.count
        state.pointee.members.append(Member(key: offset, value: value, end: value))
    }

    @inline(__always)
    func endMember(_ index: Int) {
        state.pointee.members[state.pointee.members.count &- 1].end = state.pointee.text.count
        state.pointee.frames[index].count &+= 1
    }

    /// Notes whether the key at the end of the text may be a duplicate.
    @inline(__always)
    private func noteKey(_ offset: Int, _ index: Int) {
        let (key, count) = (state.pointee.text.bytes + offset, state.pointee.text.count - offset)
        let tag: UInt64 = 1 << UInt64(JSONKeyHash.hash(key, count) & 63)
        // Keys beyond ASCII can be equal although their bytes differ.
        if UnsafeBufferPointer(start: key, count: count).contains(where: { $0 >= 0x80 }) {
            state.pointee.frames[index].mayRepeat = true
        }
        if state.pointee.frames[index].tags & tag != 0 { compareKey(key, count, index) }
        state.pointee.frames[index].tags |= tag
    }

    @inline(never)
    private func compareKey(_ key: UnsafePointer<UInt8>, _ count: Int, _ index: Int) {
        let members = state.pointee.members[state.pointee.frames[index].firstMember...]
        let repeats =
            members.count > Self.pairLimit
            || members.contains { member in
                let length = member.value - member.key - encoding.style.colon.utf8CodeUnitCount
                return length == count && JSONKeyHash.areEqual(state.pointee.text.bytes + member.key, key, count)
            }
        if repeats { state.pointee.frames[index].mayRepeat = true }
    }

    /// Returns the key of a member.
    private func key(_ member: Member) -> String {
        let end = member.value - encoding.style.colon.utf8CodeUnitCount - 1
        let escaped = UnsafeBufferPointer(rebasing: state.pointee.text.buffer[(member.key + 1)..<end])
        return String(unsafeUninitializedCapacity: escaped.count) { JSONEscapes.decode(escaped, into: $0) }
    }

    /// Returns the last earlier member with the key of the member that has just begun.
    func earlierMember(_ index: Int) -> Member? {
        let frame = state.pointee.frames[index]
        let members = state.pointee.members[frame.firstMember...]
        guard frame.mayRepeat || frame.keepsKeys, let new = members.last else { return nil }
        let (bytes, length) = (state.pointee.text.bytes, new.value - new.key)
        let isUsual = UnsafeBufferPointer(start: bytes + new.key, count: length).allSatisfy { $0 < 0x80 }
        guard !isUsual else {
            return members.dropLast().last { member in
                member.value - member.key == length
                    && JSONKeyHash.areEqual(bytes + member.key, bytes + new.key, length)
            }
        }
        let name = key(new)
        return members.dropLast().last { key($0) == name }
    }

    /// Sorts the members of an object if the encoder does so, and removes values of keys that occur again.
    func finishMembers(_ index: Int) {
        let (start, mayRepeat) = (state.pointee.frames[index].firstMember, state.pointee.frames[index].mayRepeat)
        defer { state.pointee.members.removeSubrange(start...) }
        guard encoding.style.isSorted || mayRepeat else { return }
        let members = Array(state.pointee.members[start...])
        guard members.count > 1, let first = members.first else { return }
        var keyed: [(key: String, member: Member, value: Member)] = []
        var positions: [String: Int] = [:]
        for member in members {
            let key = key(member)
            if mayRepeat, let position = positions.updateValue(keyed.count, forKey: key) {
                positions[key] = position
                keyed[position].value = member
            } else {
                keyed.append((key, member, member))
            }
        }
        if encoding.style.isSorted { keyed.sort { JSONTextStyle.precedes($0.key, $1.key) } }
        let isChanged = keyed.count < members.count || zip(keyed, members).contains { $0.member.key != $1.key }
        if isChanged { rewrite(keyed.map { ($0.member, $0.value) }, from: first.key) }
    }

    /// Replaces the members from the offset on by others: the key of one, and the value of one.
    private func rewrite(_ members: [(key: Member, value: Member)], from start: Int) {
        let old = Array(state.pointee.text.buffer[start...])
        let firstChild = firstChild(from: start)
        let oldChildren = Array(state.pointee.children[firstChild...])
        state.pointee.children.removeSubrange(firstChild...)
        state.pointee.text.truncate(to: start)
        for (index, (key, value)) in members.enumerated() {
            if index > 0 { state.pointee.text.separate(index, encoding.style, depth: state.pointee.depth + 1) }
            append(old[(key.key - start)..<(key.value - start)])
            let offset = state.pointee.text.count
            append(old[(value.value - start)..<(value.end - start)])
            let first = Self.first(in: oldChildren, from: value.value)
            for child in oldChildren[first...].prefix(while: { $0.offset <= value.end }) {
                state.pointee.children.append(
                    Child(offset: offset + child.offset - value.value, output: child.output))
            }
        }
    }

    private func append(_ bytes: ArraySlice<UInt8>) {
        bytes.withUnsafeBufferPointer { state.pointee.text.append($0) }
    }
}
