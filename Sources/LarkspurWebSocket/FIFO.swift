/// A queue of elements that gives its memory back when it is empty.
struct FIFO<Element> {
    private var elements: [Element?] = []
    private var start = 0

    var isEmpty: Bool { start == elements.count }
    var first: Element? { isEmpty ? nil : elements[start] }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = elements[start].take()
        start += 1
        if start == elements.count {
            elements.removeAll(keepingCapacity: elements.count <= 64)
            start = 0
        } else if start >= 1_024, start > elements.count / 2 {
            elements.removeFirst(start)
            start = 0
        }
        return element
    }

    /// Removes the first element that matches.
    mutating func remove(where matches: (Element) -> Bool) -> Element? {
        guard let index = elements.indices.dropFirst(start).first(where: { elements[$0].map(matches) == true }) else {
            return nil
        }
        return elements.remove(at: index)
    }

    mutating func takeAll() -> [Element] {
        defer { self = FIFO() }
        return elements[start...].compactMap(\.self)
    }
}
