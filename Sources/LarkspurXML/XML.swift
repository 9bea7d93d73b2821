import Larkspur

/// An XML element with its content. A document is represented by its outermost element.
///
/// A missing element is returned as an element without name and content, so a path can be followed without unwrapping
/// each step:
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
    /// Compare names by `local` and `namespace`, because another document may use another prefix for the same
    /// namespace.
    public struct Name: Sendable, Hashable, CustomStringConvertible {
        /// The prefix; empty if there is none, or for the default namespace.
        public let prefix: String
        /// The name without its prefix.
        public let local: String
        /// The URI of the namespace; empty if there is none.
        public let namespace: String

        /// The name as written: `atom:link`, or `link` without a prefix.
        public var description: String { prefix.isEmpty ? local : "\(prefix):\(local)" }
    }

    /// An attribute of an element.
    public struct Attribute: Sendable, Hashable {
        /// The name. A name without a prefix has no namespace, even if the element has a namespace.
        public let name: Name
        /// The value. The parser replaces tabs and line breaks by spaces, unless they were written as references.
        public let value: String
    }

    /// A part of an element's content.
    #if compiler(>=6.3)
        @nonexhaustive(warn)
    #endif
    public enum Node: Sendable, Hashable {
        /// A child element.
        case element(XML)
        /// The text up to the next node of another kind, including the text of CDATA sections.
        case text(String)
        /// A comment, without its delimiters.
        case comment(String)
        /// A processing instruction, for example of a style sheet.
        case instruction(target: String, String)
    }

    /// The maximum nesting of elements in a document.
    public static let maximumDepth = 256
    /// The maximum number of attributes of an element.
    public static let maximumAttributes = 1_024

    /// The name; empty for a missing element.
    public let name: Name
    /// The attributes in order, including namespace declarations.
    public let attributes: [Attribute]
    /// The content in order.
    public internal(set) var children: [Node] = []

    private static let missing = XML(name: Name(prefix: "", local: "", namespace: ""), attributes: [])

    init(name: Name, attributes: [Attribute]) {
        self.name = name
        self.attributes = attributes
    }

    /// Parses a document as strictly as ``XMLEventParser``. Nodes outside the outermost element are dropped.
    ///
    /// - Parameter charset: The charset of the response's `Content-Type`, which overrides the document's own
    ///   declaration.
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

    /// Parses a document in a string. The encoding in its declaration is ignored.
    public init(text: String) throws(XMLError) {
        try self.init(data: Data(text.utf8), charset: "UTF-8")
    }

    /// Whether the element is missing.
    public var isMissing: Bool { name.local.isEmpty }

    /// The child elements.
    public var elements: [XML] {
        children.compactMap { if case .element(let element) = $0 { element } else { nil } }
    }

    /// Returns the child elements with this name. If `namespace` is nil, elements of all namespaces are returned; `""`
    /// means no namespace.
    public func children(named local: String, in namespace: String? = nil) -> [XML] {
        elements.filter { $0.isNamed(local, in: namespace) }
    }

    /// The first child element with this name; a missing element if there is no such child. If `namespace` is nil, the
    /// namespace does not matter.
    public subscript(local: String, in namespace: String? = nil) -> XML {
        for case .element(let element) in children where element.isNamed(local, in: namespace) { return element }
        return .missing
    }

    private func isNamed(_ local: String, in namespace: String?) -> Bool {
        name.local == local && (namespace == nil || name.namespace == namespace)
    }

    /// Returns the value of the attribute; nil if the element has no such attribute. An attribute without a prefix has
    /// no namespace.
    public func attribute(_ local: String, in namespace: String = "") -> String? {
        attributes.first { $0.name.local == local && $0.name.namespace == namespace }?.value
    }

    /// The text of the element and its descendants, unchanged.
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

    /// Returns whether both elements have equal names, attributes and content. Details of the XML text, such as the
    /// kind of quotation marks, are not compared.
    public static func == (left: XML, right: XML) -> Bool {
        // This function is not recursive, because recursion needs kilobytes of stack for each level in debug builds.
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
