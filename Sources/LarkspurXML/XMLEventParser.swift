import Larkspur

extension XML {
    /// An event of an ``XMLEventParser``, in the order of the document.
    #if compiler(>=6.3)
        @nonexhaustive(warn)
    #endif
    public enum Event: Sendable, Hashable {
        /// The start tag of an element.
        case start(Name, attributes: [Attribute])
        /// The end tag of an element. An empty tag, such as `<br/>`, has a start event and an end event.
        case end(Name)
        /// The whole text between two other events, including white space and the text of CDATA sections. References
        /// are replaced by their characters.
        case text(String)
        /// A comment, without its delimiters.
        case comment(String)
        /// A processing instruction.
        case instruction(target: String, String)
    }
}

/// A parser that reads a document event by event, for documents that are large or needed only in part:
///
/// ```swift
/// var parser = try XMLEventParser(data: body)
/// while let event = try parser.next() {
///     if case .start(let name, let attributes) = event { … }
/// }
/// ```
///
/// The parser checks the well-formedness rules of XML 1.0 and of namespaces. It skips a document type declaration, so
/// the only entities are `lt`, `gt`, `amp`, `quot` and `apos`. For any input, the events finish with the end of the
/// document or an error, in linear time.
public struct XMLEventParser: Sendable {
    private enum Stage {
        /// Before the outermost element, where a document type declaration is allowed.
        case documentType
        case root
        case content
        /// After the start event of an empty tag, whose end event is next.
        case endOfEmptyTag
        case nothing
        case failed(XMLError)
    }

    private struct OpenElement {
        let name: XML.Name
        /// The range of the name in the start tag.
        let written: Range<Int>
        /// The outer namespace declarations that the element's own declarations hide.
        let shadowed: [XMLNamespaces.Shadowed]
    }

    private var scanner: XMLScanner
    private var stage = Stage.documentType
    private var open: [OpenElement] = []
    private var namespaces = XMLNamespaces()
    /// The part of a text or attribute value that is decoded so far. It is a property so that its memory is reused.
    private var buffer: [UInt8] = []

    /// Creates a parser of a document in UTF-8, UTF-16 or ISO-8859-1. The encoding is taken from the byte order mark.
    /// Without a mark, it is taken from `charset`, and without `charset` from the document's own declaration.
    ///
    /// - Parameter charset: The charset of the response's `Content-Type`.
    public init(data: Data, charset: String? = nil) throws(XMLError) {
        scanner = try XMLScanner(document: data, charset: charset)
        try scanner.skipDeclaration()
    }

    /// Returns the next event; nil at the end of the document. After an error, each further call throws the same error.
    public mutating func next() throws(XMLError) -> XML.Event? {
        do throws(XMLError) {
            while true {
                switch stage {
                case .failed(let error): throw error
                case .endOfEmptyTag: return endElement()
                case .content:
                    if let event = try text() { return event }
                    if let event = try markup() { return event }
                case .documentType, .root, .nothing:
                    scanner.skipWhitespace()
                    if case .nothing = stage, scanner.isAtEnd { return nil }
                    if let event = try markup() { return event }
                }
            }
        } catch {
            stage = .failed(error)
            throw error
        }
    }

    /// Returns the text up to the next markup; nil if there is no text.
    private mutating func text() throws(XMLError) -> XML.Event? {
        buffer.removeAll(keepingCapacity: true)
        var pending = scanner.position
        func flush() { buffer.append(contentsOf: scanner.text[pending..<scanner.position]) }
        while !scanner.isAtEnd {
            switch scanner.current {
            case UInt8(ascii: "&"):
                flush()
                try scanner.skipReference(into: &buffer)
                pending = scanner.position
            case UInt8(ascii: "<") where scanner.sees("<![CDATA["):
                flush()
                _ = scanner.skip("<![CDATA[")
                let section = try scanner.skip(through: "]]>", "\"]]>\" after the CDATA section")
                buffer.append(contentsOf: scanner.text[section])
                pending = scanner.position
            case UInt8(ascii: "<"):
                flush()
                return buffer.isEmpty ? nil : .text(String(decoding: buffer, as: UTF8.self))
            case UInt8(ascii: "]") where scanner.sees("]]>"):
                throw scanner.expected("\"]]&gt;\", for \"]]>\" ends a CDATA section")
            default: scanner.position += 1
            }
        }
        throw scanner.expected("the end tag of the element")
    }

    /// Returns the next tag, comment or processing instruction; nil for markup without an event.
    private mutating func markup() throws(XMLError) -> XML.Event? {
        if scanner.skip("<!--") { return try comment() }
        if scanner.skip("<?") { return try instruction() }
        switch stage {
        case .content where scanner.skip("</"): return try endTag()
        case .documentType where scanner.skip("<!DOCTYPE"):
            try scanner.skipDocumentType()
            stage = .root
            return nil
        case .nothing: throw scanner.expected("nothing but comments after the outermost element")
        default:
            guard scanner.skip("<") else { throw scanner.expected("the outermost element") }
            return try startTag()
        }
    }

    private mutating func comment() throws(XMLError) -> XML.Event {
        let comment = try scanner.skip(through: "--", "\"-->\" after the comment")
        guard scanner.skip(">") else { throw scanner.expected("\">\" after the two hyphens") }
        return .comment(scanner.string(comment))
    }

    private mutating func instruction() throws(XMLError) -> XML.Event {
        let start = scanner.position
        let target = scanner.string(try scanner.skipName())
        guard target.lowercased() != "xml" else {
            let place = scanner.isAtEnd ? nil : start
            throw scanner.expected("the XML declaration only at the start of the document", .malformedName, at: place)
        }
        if scanner.skip("?>") { return .instruction(target: target, "") }
        guard scanner.skipWhitespace() else { throw scanner.expected("white space or \"?>\" after the target") }
        let data = try scanner.skip(through: "?>", "\"?>\" after the processing instruction")
        return .instruction(target: target, scanner.string(data))
    }
}

// Elements.
extension XMLEventParser {
    /// An attribute whose namespace is not resolved yet, with its position.
    private typealias WrittenAttribute = (position: Int, name: XML.Name, value: String)

    private mutating func startTag() throws(XMLError) -> XML.Event {
        let start = scanner.position
        guard open.count < XML.maximumDepth else {
            throw scanner.expected("a lower nesting of elements; see XML.maximumDepth", .tooDeep, at: start - 1)
        }
        let (prefix, local) = try scanner.skipQualifiedName()
        let end = scanner.position
        var attributes: [WrittenAttribute] = []
        while true {
            let hasSpace = scanner.skipWhitespace()
            if scanner.skip(">") {
                stage = .content
                break
            }
            if scanner.skip("/>") {
                stage = .endOfEmptyTag
                break
            }
            guard hasSpace else { throw scanner.expected("white space, \">\" or \"/>\"") }
            guard attributes.count < XML.maximumAttributes else {
                throw scanner.expected("fewer attributes; see XML.maximumAttributes", .tooManyAttributes)
            }
            attributes.append(try attribute())
        }
        let shadowed = try declare(attributes)
        let name = XML.Name(prefix: prefix, local: local, namespace: try namespace(of: prefix, at: start).name)
        open.append(OpenElement(name: name, written: start..<end, shadowed: shadowed))
        return .start(name, attributes: try resolve(attributes))
    }

    private mutating func endTag() throws(XMLError) -> XML.Event {
        let start = scanner.position
        _ = try scanner.skipQualifiedName()
        // The names are compared byte by byte, because Swift strings with different Unicode scalars can be equal.
        guard let element = open.last,
            scanner.text[element.written].elementsEqual(scanner.text[start..<scanner.position])
        else {
            throw scanner.expected(
                "the end tag of the innermost open element", .mismatchedTag, at: scanner.isAtEnd ? nil : start)
        }
        scanner.skipWhitespace()
        guard scanner.skip(">") else { throw scanner.expected("\">\" after the name") }
        return endElement()
    }

    private mutating func endElement() -> XML.Event {
        let element = open.removeLast()
        namespaces.restore(element.shadowed)
        stage = open.isEmpty ? .nothing : .content
        return .end(element.name)
    }

    private mutating func attribute() throws(XMLError) -> WrittenAttribute {
        let position = scanner.position
        let (prefix, local) = try scanner.skipQualifiedName()
        try scanner.skipEqualsSign()
        return (position, XML.Name(prefix: prefix, local: local, namespace: ""), try attributeValue())
    }

    private mutating func attributeValue() throws(XMLError) -> String {
        let quote = scanner.current
        guard scanner.skip("\"") || scanner.skip("'") else { throw scanner.expected("a value in quotation marks") }
        buffer.removeAll(keepingCapacity: true)
        while !scanner.isAtEnd, scanner.current != quote {
            switch scanner.current {
            case UInt8(ascii: "&"):
                try scanner.skipReference(into: &buffer)
                continue
            case UInt8(ascii: "<"): throw scanner.expected("\"&lt;\" in the value of an attribute")
            case 0x09, 0x0A: buffer.append(0x20)  // XML 1.0, section 3.3.3, except for references
            case let byte: buffer.append(byte)
            }
            scanner.position += 1
        }
        guard !scanner.isAtEnd else { throw scanner.expected("the closing quotation mark") }
        scanner.position += 1
        return String(decoding: buffer, as: UTF8.self)
    }
}

// Namespaces.
extension XMLEventParser {
    /// Declares the namespaces of a tag. Returns the outer declarations that the new declarations hide.
    private mutating func declare(_ attributes: [WrittenAttribute]) throws(XMLError) -> [XMLNamespaces.Shadowed] {
        var shadowed: [XMLNamespaces.Shadowed] = []
        for attribute in attributes {
            guard let prefix = attribute.name.declaredPrefix else { continue }
            let name = attribute.value
            guard prefix != "xmlns", name != XMLNamespaces.Namespace.declarations.name, !name.isEmpty || prefix.isEmpty,
                (prefix == "xml") == (name == XMLNamespaces.Namespace.xml.name)
            else { throw scanner.expected("another prefix or namespace", .invalidNamespace, at: attribute.position) }
            shadowed.append(namespaces.declare(prefix, as: name))
        }
        return shadowed
    }

    private func namespace(of prefix: String, at position: Int) throws(XMLError) -> XMLNamespaces.Namespace {
        guard prefix != "xmlns", let namespace = namespaces[prefix] else {
            throw scanner.expected("a prefix whose namespace is declared", .unboundPrefix, at: position)
        }
        return namespace
    }

    private struct ResolvedName: Hashable {
        let namespace: Int
        let local: String
    }

    private func resolve(_ attributes: [WrittenAttribute]) throws(XMLError) -> [XML.Attribute] {
        var names: Set<ResolvedName> = []
        var resolved: [XML.Attribute] = []
        resolved.reserveCapacity(attributes.count)
        for attribute in attributes {
            let namespace: XMLNamespaces.Namespace
            var value = attribute.value
            if let prefix = attribute.name.declaredPrefix {
                namespace = .declarations
                value = namespaces[prefix]?.name ?? value  // the same text, in the storage that all names share
            } else if attribute.name.prefix.isEmpty {
                namespace = .none  // even if the element has a namespace
            } else {
                namespace = try self.namespace(of: attribute.name.prefix, at: attribute.position)
            }
            guard names.insert(ResolvedName(namespace: namespace.number, local: attribute.name.local)).inserted else {
                throw scanner.expected("each attribute once", .duplicateAttribute, at: attribute.position)
            }
            let name = XML.Name(prefix: attribute.name.prefix, local: attribute.name.local, namespace: namespace.name)
            resolved.append(XML.Attribute(name: name, value: value))
        }
        return resolved
    }
}
