internal import CLarkspur

/// A flag that is set once, by `raise()`, and read without a lock. Readers of a stream check it for each line.
@usableFromInline
final class AtomicFlag: Sendable {
    /// The address of the value, which only atomic operations access. An integer, because pointers are not `Sendable`.
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
