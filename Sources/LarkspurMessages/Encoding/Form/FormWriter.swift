/// A writer that turns the tree of a form into one text of `key=value` pairs. Each key includes the keys of its
/// parents.
struct FormWriter {
    let options: URLEncodedFormEncoder
    private(set) var bytes: [UInt8] = []

    mutating func write(root: FormNode) throws(RequestError) {
        switch (root.kind, root.members.first?.value) {
        case (nil, _), (.single, .nothing): break  // nothing was encoded
        case (.keyed, _):
            for (key, value) in ordered(root) { write(value, at: key) }
        case (.single, _), (.unkeyed, _):
            throw RequestError(
                .encodingFailed, "the parameters cannot be encoded as a form: the outermost value has no keys")
        }
    }

    private mutating func write(_ value: FormNode.Value, at key: String) {
        switch value {
        case .nothing: break
        case .text(let text): writePair(key, text)
        case .node(let node): write(node, at: key)
        }
    }

    private mutating func write(_ node: FormNode, at key: String) {
        switch node.kind {
        case nil: break
        case .single:
            for member in node.members { write(member.value, at: key) }
        case .keyed:
            for (child, value) in ordered(node) { write(value, at: options.keyPathEncoding.path(key, child)) }
        case .unkeyed:
            for (index, member) in node.members.enumerated() {
                write(member.value, at: options.arrayEncoding.key(key, index))
            }
        }
    }

    private func ordered(_ node: FormNode) -> [FormNode.Member] {
        options.alphabetizeKeyValuePairs ? node.members.sorted { $0.key < $1.key } : node.members
    }

    mutating func writePair(_ key: String, _ value: String) {
        if !bytes.isEmpty { bytes.append(UInt8(ascii: "&")) }
        writeEscaped(key)
        bytes.append(UInt8(ascii: "="))
        writeEscaped(value)
    }

    mutating func writeEscaped(_ text: String) {
        for byte in text.utf8 {
            if byte == UInt8(ascii: " "), options.spaceEncoding == .plusReplaced {
                bytes.append(UInt8(ascii: "+"))
            } else {
                bytes.append(byte, allowing: options.allowedCharacters)
            }
        }
    }
}
