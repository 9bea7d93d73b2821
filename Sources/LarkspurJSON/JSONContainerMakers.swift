/// Creates the containers of a decoding that have one type of keys.
///
/// The type of a container depends on the type of its keys, and so does the type of the box that the standard library
/// puts around it. The runtime searches for each of these types whenever a container is created, which takes as long as
/// decoding several members. A maker has the type of the container as its own parameter, so it need not search for it.
class JSONContainerMaker<Key: CodingKey> {
    func container(_ scan: JSONScan, _ object: Int, isDictionary: Bool) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(JSONKeyedContainer(scan, object, isDictionary: isDictionary))
    }
}

/// A container of an object that a scan can create.
protocol JSONMadeContainer: KeyedDecodingContainerProtocol {
    init(_ scan: JSONScan, _ object: Int, isDictionary: Bool)
}

extension JSONKeyedContainer: JSONMadeContainer {}

private final class JSONMaker<Key, Container: JSONMadeContainer>: JSONContainerMaker<Key> where Container.Key == Key {
    override func container(_ scan: JSONScan, _ object: Int, isDictionary: Bool) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(Container(scan, object, isDictionary: isDictionary))
    }
}

/// The makers of a decoding by the type of keys. The address of the type selects its place, so a search takes the same
/// time for any number of types.
struct JSONContainerMakers {
    private struct Place {
        var keys: ObjectIdentifier?
        /// nil until a second container has keys of this type: a maker for one container would not be worth its cost.
        var maker: AnyObject?
    }

    private static var count: Int { 8 }
    private var places: [Place] = []

    /// Returns the maker for a type of keys; nil for the first container with this type.
    @inline(__always)
    mutating func maker<Key: CodingKey>(_ type: Key.Type) -> JSONContainerMaker<Key>? {
        let keys = ObjectIdentifier(type)
        let place = Int(bitPattern: keys) >> 4 & (Self.count - 1)
        guard place < places.count, places[place].keys == keys, let maker = places[place].maker else {
            note(type, place)
            return nil
        }
        return unsafeDowncast(maker, to: JSONContainerMaker<Key>.self)
    }

    /// Notes a type of keys, or creates a maker if the type has been noted before.
    @inline(never)
    private mutating func note<Key: CodingKey>(_ type: Key.Type, _ place: Int) {
        if places.isEmpty { places = Array(repeating: Place(), count: Self.count) }
        let keys = ObjectIdentifier(type)
        let isKnown = places[place].keys == keys
        places[place] = Place(keys: keys, maker: isKnown ? JSONMaker<Key, JSONKeyedContainer<Key>>() : nil)
    }
}
