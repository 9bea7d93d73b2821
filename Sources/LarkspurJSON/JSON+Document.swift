extension JSON {
    /// A parsed document whose values are read only when they are asked for. Use it to read a few values of a large
    /// body: parsing is more than twice as fast as for a ``JSON`` value, and takes less memory.
    ///
    /// ```swift
    /// let document = try JSON.Document(data: body)
    /// let name = document["items"][0]["name"].string
    /// for item in document["items"].elements where item["active"].bool == true {
    ///     users.append(try item.decode(User.self))
    /// }
    /// ```
    ///
    /// Like a ``JSON`` value, a document is null where a key or an index is missing. A part that is an array or an
    /// object keeps the whole document in memory. A string, a number, a Boolean or a null does not.
    public struct Document: Sendable {
        /// The bytes and the tape, which all parts of a document share. Nothing changes them.
        private final class Storage: Sendable {
            let data: Data
            let nodes: [JSONNode]

            init(_ data: Data, _ nodes: [JSONNode]) { (self.data, self.nodes) = (data, nodes) }
        }

        private enum Content: Sendable {
            case scalar(JSON)
            /// The array or object at this index of the tape.
            case container(Storage, Int)
        }

        private let content: Content

        private init(_ storage: Storage, _ tape: JSONTape, at index: Int) {
            let isContainer = tape.nodes[index].kind.rawValue >= JSONKind.array.rawValue
            content = isContainer ? .container(storage, index) : .scalar(JSON(tape, at: index))
        }

        private init() { content = .scalar(.null) }

        /// Parses a document by the same rules as ``JSON/init(data:duplicateKeys:)``.
        public init(data: Data, duplicateKeys: DuplicateKeyPolicy = .keepLast) throws(JSONError) {
            let nodes = try data.withUnsafeBytes { bytes in
                Result { () throws(JSONError) in
                    try JSONTapeBuilder.withTape(of: bytes.bindMemory(to: UInt8.self), duplicateKeys: duplicateKeys) {
                        Array(UnsafeBufferPointer(start: $0.nodes, count: $1))
                    }
                }
            }.get()
            let storage = Storage(data, nodes)
            self = Self.withTape(storage) { Document(storage, $0, at: 0) }
        }

        /// Parses a document in a string.
        public init(text: String, duplicateKeys: DuplicateKeyPolicy = .keepLast) throws(JSONError) {
            try self.init(data: Data(text.utf8), duplicateKeys: duplicateKeys)
        }

        /// Calls the closure with the tape, which it must not change.
        private static func withTape<Result>(_ storage: Storage, _ body: (JSONTape) -> Result) -> Result {
            storage.data.withUnsafeBytes { bytes in
                storage.nodes.withUnsafeBufferPointer { nodes in
                    // Neither is empty: a document has at least one byte and one node.
                    guard let bytes = bytes.bindMemory(to: UInt8.self).baseAddress, let start = nodes.baseAddress else {
                        preconditionFailure("a document has bytes and nodes")
                    }
                    return body(JSONTape(bytes: bytes, nodes: UnsafeMutablePointer(mutating: start)))
                }
            }
        }

        /// The value with all its contents.
        public var value: JSON {
            switch content {
            case .scalar(let value): value
            case .container(let storage, let index): Self.withTape(storage) { JSON($0, at: index) }
            }
        }

        private var scalar: JSON? { if case .scalar(let value) = content { value } else { nil } }

        /// Whether this is `null` or a missing value.
        public var isNull: Bool { scalar?.isNull ?? false }
        /// The Boolean; nil for other types.
        public var bool: Bool? { scalar?.bool }
        /// The number with all its digits; nil for other types.
        public var number: Number? { scalar?.number }
        /// The number as an integer, if it is whole and fits into `Int`.
        public var int: Int? { scalar?.int }
        /// The number as the nearest `Double`; nil for other types and for numbers beyond the range of `Double`.
        public var double: Double? { scalar?.double }
        /// The string; nil for other types.
        public var string: String? { scalar?.string }

        /// The number of elements of an array or of members of an object; 0 for other types.
        public var count: Int { elements.count + members.count }

        /// The value of the key; null if it is missing or this is not an object.
        public subscript(key: String) -> Document {
            guard case .container(let storage, let index) = content, storage.nodes[index].kind == .object else {
                return Document()
            }
            return Self.withTape(storage) { tape in
                tape.find(key, in: index).map { Document(storage, tape, at: $0) } ?? Document()
            }
        }

        /// The element at the index; null if it is missing or this is not an array. Earlier elements are skipped one by
        /// one, so use ``elements`` to visit all.
        public subscript(index: Int) -> Document {
            guard index >= 0, index < elements.count else { return Document() }
            return elements.dropFirst(index).first { _ in true } ?? Document()
        }

        /// Returns the value decoded as another type. Coding paths in errors begin at this value.
        public func decode<Value: Decodable>(
            _ type: Value.Type = Value.self, using decoder: JSON.Decoder = JSON.Decoder()
        ) throws -> Value {
            guard case .container(let storage, let index) = content else {
                return try decoder.decode(type, from: value.data())
            }
            // The decoder changes its nodes, so it gets a copy. The indices of the copy begin at 0.
            let end = storage.nodes[index].end
            let (nodes, capacity) = JSONNodeMemory.take(end - index)
            for source in index..<end {
                var node = storage.nodes[source]
                if node.kind.rawValue >= JSONKind.array.rawValue { node.extra -= UInt64(index) }
                (nodes + (source - index)).initialize(to: node)
            }
            return try storage.data.withUnsafeBytes { bytes in
                let start =
                    bytes.bindMemory(to: UInt8.self).baseAddress
                    ?? UnsafePointer(UnsafeRawPointer(nodes).assumingMemoryBound(to: UInt8.self))
                return try decoder.decode(
                    JSONScan(decoder, JSONTape(bytes: start, nodes: nodes), capacity: capacity, textCount: bytes.count)
                ) { try $0.value(type, at: 0) }
            }
        }
    }
}

extension JSON.Document {
    /// The elements of an array, or nothing for other types.
    public var elements: Elements { Elements(contents: Contents(self, of: .array)) }
    /// The members of an object in order, or nothing for other types. Each key occurs once.
    public var members: Members { Members(contents: Contents(self, of: .object)) }

    /// The elements of an array.
    public struct Elements: Sequence, IteratorProtocol, Sendable {
        fileprivate var contents: Contents
        /// The number of elements that have not been read yet.
        public var count: Int { contents.count }
        public mutating func next() -> JSON.Document? { contents.next()?.value }
    }

    /// The members of an object.
    public struct Members: Sequence, IteratorProtocol, Sendable {
        fileprivate var contents: Contents
        /// The number of members that have not been read yet.
        public var count: Int { contents.count }
        public mutating func next() -> (key: String, value: JSON.Document)? { contents.next() }
    }

    /// A position in an array or an object.
    fileprivate struct Contents: Sendable {
        private let storage: Storage?
        private let isObject: Bool
        private var index = 0
        private(set) var count = 0

        init(_ document: JSON.Document, of kind: JSONKind) {
            isObject = kind == .object
            guard case .container(let storage, let container) = document.content,
                case let node = storage.nodes[container], node.kind == kind
            else {
                self.storage = nil
                return
            }
            self.storage = storage
            index = container + 1
            count = node.count
            guard isObject else { return }
            index += 1
            guard node.has(JSONNode.hasDuplicates) else { return }
            count = JSON.Document.withTape(storage) { tape in
                var (key, count) = (container + 2, 0)
                while key < node.end {
                    if !tape.nodes[key].has(JSONNode.isShadowed) { count += 1 }
                    key = tape.index(after: key + 1)
                }
                return count
            }
        }

        mutating func next() -> (key: String, value: JSON.Document)? {
            guard count > 0, let storage else { return nil }
            count -= 1
            return JSON.Document.withTape(storage) { tape in
                guard isObject else {
                    defer { index = tape.index(after: index) }
                    return ("", JSON.Document(storage, tape, at: index))
                }
                while tape.nodes[index].has(JSONNode.isShadowed) { index = tape.index(after: index + 1) }
                defer { index = tape.index(after: index + 1) }
                return (tape.string(index), JSON.Document(storage, tape, at: index + 1))
            }
        }
    }
}

extension JSON.Document: CustomStringConvertible {
    /// The value as JSON text on one line, with sorted keys.
    public var description: String { value.description }
}
