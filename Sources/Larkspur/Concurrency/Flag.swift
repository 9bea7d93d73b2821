internal import CLarkspur

/// A flag that is raised once, and read without a lock: once for each line of a stream.
@usableFromInline
final class Flag: Sendable {
    /// An address, because pointers are for one thread. Only atomic operations read and write its value.
    private let address: UInt

    init() {
        let flag = UnsafeMutablePointer<UInt32>.allocate(capacity: 1)
        flag.initialize(to: 0)
        address = UInt(bitPattern: flag)
    }

    deinit { pointer?.deallocate() }

    @usableFromInline var isRaised: Bool { clarkspur_flag_is_raised(pointer) }

    func raise() { clarkspur_flag_raise(pointer) }

    private var pointer: UnsafeMutablePointer<UInt32>? { UnsafeMutablePointer(bitPattern: address) }
}
