extension XML: CustomStringConvertible {
    /// The element as XML text; empty for a missing element. Parsing this text again returns an equal element. If the
    /// element is a part of a document, the text includes the namespace declarations that the element needs from the
    /// rest of the document.
    public var description: String {
        guard !isMissing else { return "" }
        var writer = XMLWriter()
        writer.write(self)
        return writer.text
    }
}

private struct XMLWriter {
    private var bytes: [UInt8] = []
    private var namespaces = XMLNamespaces()
    /// The namespace declarations that the outermost element needs from the rest of its document. `inheritedPlace` is
    /// the position in `bytes` at which they are inserted.
    private var inherited: [UInt8] = []
    private var inheritedPlace = 0

    var text: String {
        String(decoding: bytes[..<inheritedPlace] + inherited + bytes[inheritedPlace...], as: UTF8.self)
    }

    // In debug builds, every value in a function needs space on the stack. This recursive function therefore leaves all
    // work except the recursion to other functions.
    mutating func write(_ element: XML) {
        let shadowed = writeStartTag(of: element)
        for child in element.children {
            if case .element(let element) = child { write(element) } else { writeLeaf(child) }
        }
        if !element.children.isEmpty { writeEndTag(of: element) }
        namespaces.restore(shadowed)
    }

    /// Writes a start tag. Returns the outer namespace declarations that the tag's own declarations hide.
    private mutating func writeStartTag(of element: XML) -> [XMLNamespaces.Shadowed] {
        var shadowed: [XMLNamespaces.Shadowed] = []
        for attribute in element.attributes {
            guard let prefix = attribute.name.declaredPrefix else { continue }
            shadowed.append(namespaces.declare(prefix, as: attribute.value))
        }
        inherit(element.name)
        bytes.append("<\(element.name)")
        if inheritedPlace == 0 { inheritedPlace = bytes.count }
        for attribute in element.attributes {
            if !attribute.name.prefix.isEmpty { inherit(attribute.name) }
            bytes.append(" \(attribute.name)=\"")
            bytes.append(escaping: attribute.value, inAttribute: true)
            bytes.append("\"")
        }
        bytes.append(element.children.isEmpty ? "/>" : ">")
        return shadowed
    }

    private mutating func writeEndTag(of element: XML) { bytes.append("</\(element.name)>") }

    private mutating func writeLeaf(_ node: XML.Node) {
        switch node {
        case .element: break
        case .text(let text): bytes.append(escaping: text, inAttribute: false)
        case .comment(let text): bytes.append("<!--\(text)-->")
        case .instruction(let target, let data): bytes.append("<?\(target)\(data.isEmpty ? "" : " ")\(data)?>")
        }
    }

    /// Adds a declaration of the name's prefix to the outermost element, if the prefix is declared outside of that
    /// element.
    private mutating func inherit(_ name: XML.Name) {
        guard namespaces[name.prefix]?.name != name.namespace else { return }
        _ = namespaces.declare(name.prefix, as: name.namespace)
        inherited.append(name.prefix.isEmpty ? " xmlns=\"" : " xmlns:\(name.prefix)=\"")
        inherited.append(escaping: name.namespace, inAttribute: true)
        inherited.append("\"")
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ text: String) { append(contentsOf: text.utf8) }

    /// Appends a text with special characters escaped. White space that parsers would change is escaped too.
    fileprivate mutating func append(escaping text: String, inAttribute: Bool) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "<"): append("&lt;")
            case UInt8(ascii: ">"): append("&gt;")
            case UInt8(ascii: "&"): append("&amp;")
            case UInt8(ascii: "\"") where inAttribute: append("&quot;")
            case 0x09 where inAttribute, 0x0A where inAttribute, 0x0D: append("&#\(byte);")
            default: append(byte)
            }
        }
    }
}
