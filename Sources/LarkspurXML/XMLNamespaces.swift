/// The namespace of each prefix at the current position of a reader or writer.
struct XMLNamespaces: Sendable {
    /// A namespace with a number. The number is fast to compare and to hash. The name is not, because it may be a
    /// megabyte long, and every attribute may use it.
    struct Namespace: Sendable {
        let number: Int
        let name: String

        static let none = Namespace(number: 0, name: "")
        /// The fixed namespace of the prefix `xml`.
        static let xml = Namespace(number: 1, name: "http://www.w3.org/XML/1998/namespace")
        /// The fixed namespace of `xmlns`, for declarations.
        static let declarations = Namespace(number: 2, name: "http://www.w3.org/2000/xmlns/")
    }

    /// The namespace that a prefix had before a declaration changed it; nil if the prefix had none.
    struct Shadowed: Sendable {
        let prefix: String
        let namespace: Namespace?
    }

    /// The namespaces by name, so that each name is stored only once.
    private var known: [String: Namespace] = [:]
    private var bound: [String: Namespace] = ["": .none, "xml": .xml, "xmlns": .declarations]

    init() {
        for namespace in bound.values { known[namespace.name] = namespace }
    }

    subscript(prefix: String) -> Namespace? { bound[prefix] }

    /// Declares a prefix. The declaration is valid until `restore(_:)` is called with the returned value.
    mutating func declare(_ prefix: String, as name: String) -> Shadowed {
        let namespace = known[name] ?? Namespace(number: known.count, name: name)
        known[name] = namespace
        return Shadowed(prefix: prefix, namespace: bound.updateValue(namespace, forKey: prefix))
    }

    mutating func restore(_ shadowed: [Shadowed]) {
        for declaration in shadowed.reversed() { bound[declaration.prefix] = declaration.namespace }
    }
}

extension XML.Name {
    /// The prefix that an attribute with this name declares; empty for the default namespace. Nil if such an attribute
    /// is not a namespace declaration.
    var declaredPrefix: String? { prefix == "xmlns" ? local : prefix.isEmpty && local == "xmlns" ? "" : nil }
}
