/// Which namespace each prefix stands for, at the place where a reader or writer is.
struct XMLNamespaces: Sendable {
    /// A namespace may have a name of a megabyte and be that of every attribute: so it has a number too, which is
    /// compared and hashed in no time.
    struct Namespace: Sendable {
        let number: Int
        let name: String

        static let none = Namespace(number: 0, name: "")
        /// What the prefix `xml` stands for, always.
        static let xml = Namespace(number: 1, name: "http://www.w3.org/XML/1998/namespace")
        /// What `xmlns` stands for: the namespace of declarations.
        static let declarations = Namespace(number: 2, name: "http://www.w3.org/2000/xmlns/")
    }

    /// What a prefix stood for before a declaration.
    struct Shadowed: Sendable {
        let prefix: String
        let namespace: Namespace?
    }

    /// Each namespace once, so that all that are in it share one text.
    private var known: [String: Namespace] = [:]
    private var bound: [String: Namespace] = ["": .none, "xml": .xml, "xmlns": .declarations]

    init() {
        for namespace in bound.values { known[namespace.name] = namespace }
    }

    subscript(prefix: String) -> Namespace? { bound[prefix] }

    /// Declares a prefix, until what is returned is restored.
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
    /// The prefix that an attribute of that name declares, empty for the default; nil if it declares none.
    var declaredPrefix: String? { prefix == "xmlns" ? local : prefix.isEmpty && local == "xmlns" ? "" : nil }
}
