internal import CLarkspur

/// A flag that `raise()` sets, that is never cleared, and that is read without a lock. Readers of a stream check the
/// flag for each line.
@usableFromInline
package final class AtomicFlag: Sendable {
    /// The address of the flag's value. Only atomic operations access the value. The address is an integer, because
    /// pointers are not `Sendable`.
    private let address: UInt

    package init() {
        let flag = UnsafeMutablePointer<UInt32>.allocate(capacity: 1)
        flag.initialize(to: 0)
        address = UInt(bitPattern: flag)
    }

    deinit { pointer?.deallocate() }

    @usableFromInline package var isRaised: Bool { clarkspur_flag_is_raised(pointer) }

    package func raise() { clarkspur_flag_raise(pointer) }

    private var pointer: UnsafeMutablePointer<UInt32>? { UnsafeMutablePointer(bitPattern: address) }
}
