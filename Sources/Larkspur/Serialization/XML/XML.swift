/// An XML element with all that is in it; a document is its outermost element.
///
/// Looking for something that is not there gives an element without name and content, so a path can be followed without
/// unwrapping each step:
///
/// ```swift
/// let feed = try XML(data: body)
/// let author = feed["author"]["name"].text
/// for entry in feed.children(named: "entry") {
///     print(entry["title"].text, entry["link"].attribute("href") ?? "")
/// }
/// ```
public struct XML: Sendable, Hashable {
    /// The name of an element or an attribute.
    ///
    /// A prefix is only short for the namespace, and another document may have another one: tell names by `local` and
    /// `namespace`.
    public struct Name: Sendable, Hashable, CustomStringConvertible {
        /// Empty if there is none, as ``namespace`` is.
        public let prefix: String
        /// Without a prefix.
        public let local: String
        /// The URI that the prefix stands for; empty if there is none.
        public let namespace: String

        /// As it is written: `atom:link`, or `link` without a prefix.
        public var description: String { prefix.isEmpty ? local : "\(prefix):\(local)" }
    }

    /// A name and a value in an element's start tag.
    public struct Attribute: Sendable, Hashable {
        /// Without a prefix it is in no namespace, whatever its element's is.
        public let name: Name
        /// Tabs and line breaks in it are spaces, unless they were written as references.
        public let value: String
    }

    /// What an element has in it.
    public enum Node: Sendable, Hashable {
        /// An element inside this one.
        case element(XML)
        /// Text up to another kind of node, CDATA sections included.
        case text(String)
        /// A comment, without what encloses it.
        case comment(String)
        /// A processing instruction, such as a style sheet's.
        case instruction(target: String, String)
    }

    /// How many elements a document may have inside one another.
    public static let maximumDepth = 256
    /// How many attributes an element may have.
    public static let maximumAttributes = 1_024

    /// Empty in an element that is not there.
    public let name: Name
    /// In the order in which they are written, declarations of namespaces included.
    public let attributes: [Attribute]
    /// In their order.
    public internal(set) var children: [Node] = []

    private static let missing = XML(name: Name(prefix: "", local: "", namespace: ""), attributes: [])

    init(name: Name, attributes: [Attribute]) {
        self.name = name
        self.attributes = attributes
    }

    /// Parses a document, as strictly as ``XMLEventParser``; what stands around the outermost element is dropped.
    ///
    /// - Parameter charset: What a response's `Content-Type` names; counts for more than what the document says.
    public init(data: Data, charset: String? = nil) throws(XMLError) {
        var parser = try XMLEventParser(data: data, charset: charset)
        var open: [XML] = []
        var root = Self.missing
        while let event = try parser.next() {
            let node: Node
            switch event {
            case .start(let name, let attributes):
                open.append(XML(name: name, attributes: attributes))
                continue
            case .end:
                root = open.removeLast()
                node = .element(root)
            case .text(let text): node = .text(text)
            case .comment(let text): node = .comment(text)
            case .instruction(let target, let data): node = .instruction(target: target, data)
            }
            if !open.isEmpty { open[open.count - 1].children.append(node) }
        }
        self = root
    }

    /// Parses a document in a string, whatever encoding it names.
    public init(text: String) throws(XMLError) {
        try self.init(data: Data(text.utf8), charset: "UTF-8")
    }

    /// Whether this was looked up and not found.
    public var isMissing: Bool { name.local.isEmpty }

    /// The elements directly in this one.
    public var elements: [XML] {
        children.compactMap { if case .element(let element) = $0 { element } else { nil } }
    }

    /// All elements of that name directly in this one, of any namespace if none is given; `""` is none at all.
    public func children(named local: String, in namespace: String? = nil) -> [XML] {
        elements.filter { $0.isNamed(local, in: namespace) }
    }

    /// The first element of that name directly in this one; one without a name if there is none.
    public subscript(local: String, in namespace: String? = nil) -> XML {
        for case .element(let element) in children where element.isNamed(local, in: namespace) { return element }
        return .missing
    }

    private func isNamed(_ local: String, in namespace: String?) -> Bool {
        name.local == local && (namespace == nil || name.namespace == namespace)
    }

    /// The value of that attribute; an attribute without a prefix is in no namespace.
    public func attribute(_ local: String, in namespace: String = "") -> String? {
        attributes.first { $0.name.local == local && $0.name.namespace == namespace }?.value
    }

    /// All text in this element and those inside of it, as it is written.
    public var text: String {
        var text = ""
        var pending: [Node] = children.reversed()
        while let node = pending.popLast() {
            switch node {
            case .element(let element): pending += element.children.reversed()
            case .text(let part): text += part
            case .comment, .instruction: break
            }
        }
        return text
    }

    /// Whether both are written alike, but for quotation marks and the like.
    public static func == (left: XML, right: XML) -> Bool {
        // Not by recursion, which takes kilobytes of stack for a level in debug builds.
        var pending = [(left, right)]
        while let (left, right) = pending.popLast() {
            guard left.name == right.name, left.attributes == right.attributes,
                left.children.count == right.children.count
            else { return false }
            for pair in zip(left.children, right.children) {
                if case (.element(let left), .element(let right)) = pair {
                    pending.append((left, right))
                } else if pair.0 != pair.1 {
                    return false
                }
            }
        }
        return true
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(attributes)
        hasher.combine(text)
    }
}
