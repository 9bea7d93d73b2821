/// The state that the nodes of one form share. Only one thread uses it.
final class Form {
    let options: URLEncodedFormEncoder
    /// The first error that occurred in a function of Codable that cannot throw.
    var fault: RequestError?

    init(options: URLEncodedFormEncoder) { self.options = options }
}

/// A node in the tree of a form. Each value has a node. The node is the encoder that is passed to the value, and
/// afterwards holds the encoded result.
///
/// The tree is complete before the writer writes any text, because Codable does not say when a container is finished.
/// For example, a value may write to two containers in turn, and a subclass adds its keys to the keys of its
/// superclass.
final class FormNode {
    enum Kind { case single, keyed, unkeyed }

    enum Value {
        /// A nil value whose key is left out.
        case nothing
        case text(String)
        case node(FormNode)
    }

    /// A key and a value; the key is empty if the kind is not keyed.
    typealias Member = (key: String, value: Value)

    let form: Form
    let codingPath: [any CodingKey]
    private(set) var kind: Kind?
    private(set) var members: [Member] = []
    /// The nesting depth of this node's value.
    private var depth: Int

    init(form: Form, codingPath: [any CodingKey] = [], depth: Int = 0) {
        self.form = form
        self.codingPath = codingPath
        self.depth = depth
    }

    /// Encodes a value into this node itself, without a key.
    func set(_ value: some Encodable) throws {
        do {
            guard let scalar = try (value as? any FormScalar)?.formValue(form.options) else {
                // A value may pass its encoder on to another value. That value then needs as much stack as a nested
                // value, so it counts as nested.
                depth += 1
                defer { depth -= 1 }
                return try fill(from: value)
            }
            write(scalar)
        } catch {
            throw RequestError.encoding("a form", error, at: codingPath)
        }
    }

    func write(_ value: Value) {
        open(.single)
        members.append(("", value))
    }

    /// Encodes a value as a member of this node, with the given key.
    // The method is inlined, so that a value whose type is known to the compiler needs no cast at run time.
    @inline(__always)
    func add(_ value: some Encodable, for key: some CodingKey) throws {
        do {
            if let scalar = try (value as? any FormScalar)?.formValue(form.options) {
                add(scalar, for: key)
            } else {
                try child(for: key).fill(from: value)
            }
        } catch {
            throw RequestError.encoding("a form", error, at: codingPath + [key])
        }
    }

    func add(_ value: Value, for key: some CodingKey) {
        members.append((kind == .keyed ? form.options.keyEncoding.encode(key.stringValue) : "", value))
    }

    func child(for key: some CodingKey) -> FormNode {
        guard depth < URLEncodedFormEncoder.maximumDepth else {
            form.fault = form.fault ?? Self.tooDeep
            // This node is not added to the tree: the writer traverses the tree recursively, and a deep tree would
            // overflow the stack. The coding path is not extended either, so that its length is limited, too.
            return FormNode(form: form, codingPath: codingPath, depth: depth + 1)
        }
        let child = FormNode(form: form, codingPath: codingPath + [key], depth: depth + 1)
        add(.node(child), for: key)
        return child
    }

    static let tooDeep = RequestError(
        .encodingFailed,
        "the parameters cannot be encoded as a form: they are nested deeper than "
            + "\(URLEncodedFormEncoder.maximumDepth) levels")

    private func open(_ kind: Kind) {
        if self.kind == nil {
            self.kind = kind
        } else if self.kind != kind || kind == .single {
            let words =
                "the parameters cannot be encoded as a form\(codingPath.errorSuffix): one value encodes several values "
                + "without separate keys"
            form.fault = form.fault ?? RequestError(.encodingFailed, words)
        }
    }

    private func fill<Value: Encodable>(from value: Value) throws {
        guard depth <= URLEncodedFormEncoder.maximumDepth else { throw Self.tooDeep }
        let start = members.count
        try value.encode(to: self)
        // Only the members from `start` on are sorted. Earlier members belong to a type that then passes its encoder to
        // a dictionary.
        guard let type = Value.self as? any Unordered.Type, kind == type.formKind else { return }
        members[start...].sort { $0.key == $1.key ? $0.value.text < $1.value.text : $0.key < $1.key }
    }
}

extension FormNode: Encoder {
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        open(.keyed)
        return KeyedEncodingContainer(KeyedFormContainer(node: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        open(.unkeyed)
        return UnkeyedFormContainer(node: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { SingleFormContainer(node: self) }
}

extension FormNode.Value {
    /// The sort key for the elements of a set. Elements that are not text have equal keys.
    fileprivate var text: String { if case .text(let text) = self { text } else { "" } }
}

/// A collection whose iteration order differs between runs of a program.
private protocol Unordered {
    static var formKind: FormNode.Kind { get }
}

extension Dictionary: Unordered {
    fileprivate static var formKind: FormNode.Kind { .keyed }
}

extension Set: Unordered {
    fileprivate static var formKind: FormNode.Kind { .unkeyed }
}
