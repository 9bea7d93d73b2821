/// A stack whose top elements are moved out together, into the container they belong to.
///
/// An array would copy them into the container and destroy its own: a retain and a release for every value of a document.
struct JSONParserStack<Element>: ~Copyable {
    private(set) var count = 0
    private var capacity = 32
    private var elements = UnsafeMutablePointer<Element>.allocate(capacity: 32)

    deinit {
        elements.deinitialize(count: count)
        elements.deallocate()
    }

    @inline(__always)
    mutating func push(_ element: consuming Element) {
        if count == capacity { grow() }
        (elements + count).initialize(to: element)
        count += 1
    }

    subscript(index: Int) -> Element {
        _read { yield elements[index] }
    }

    private mutating func grow() {
        let larger = UnsafeMutablePointer<Element>.allocate(capacity: capacity * 2)
        larger.moveInitialize(from: elements, count: count)
        elements.deallocate()
        elements = larger
        capacity *= 2
    }

    /// Takes the elements from `start` on away as an array.
    mutating func popArray(from start: Int) -> [Element] {
        let popped = count - start
        let first = pop(from: start)
        var array: [Element] = []
        array.reserveCapacity(popped)
        for index in 0..<popped { array.append((first + index).move()) }
        return array
    }

    /// Gives the elements from `start` on away: the caller must move each of them out before the next push.
    mutating func pop(from start: Int) -> UnsafeMutablePointer<Element> {
        count = start
        return elements + start
    }
}
