import Larkspur

/// The form of a record in a file.
///
///     "LSR1" · checksum of the rest · version · fence · count · holder · number · end · kind of the value
///     · length of the boot's identity · the identity · the value
///
/// Numbers have eight bytes, the most significant one first. The lengths of the last two parts have two bytes and the
/// rest of the file.
extension StoreRecord {
    private static let mark = Array("LSR1".utf8)
    private static let none = UInt64.max

    func bytes(of boot: String) -> [UInt8] {
        var body: [UInt8] = []
        let ending = end.map { UInt64(clamping: $0.nanoseconds) } ?? Self.none
        for number in [version, fence, UInt64(bitPattern: count), holder, number, ending] {
            Self.append(number, to: &body)
        }
        body.append(value == nil ? 0 : 1)
        let boot = Array(boot.utf8.prefix(255))
        body.append(UInt8(boot.count))
        body += boot
        if let value { body += value }
        var bytes = Self.mark
        Self.append(Self.checksum(body), to: &bytes)
        return bytes + body
    }

    /// Reads a record. Returns nil if the bytes are damaged.
    ///
    /// If the machine was started again since the record was written, its leases are not held any more, its counters
    /// begin a new window, and values with a lifetime have ended.
    init?(_ bytes: [UInt8], boot: String) {
        var rest = bytes[...]
        guard rest.starts(with: Self.mark) else { return nil }
        rest = rest.dropFirst(Self.mark.count)
        guard let checksum = Self.take(&rest), checksum == Self.checksum(rest), let version = Self.take(&rest),
            let fence = Self.take(&rest), let count = Self.take(&rest), let holder = Self.take(&rest),
            let number = Self.take(&rest), let ending = Self.take(&rest), let kind = rest.popFirst(),
            let length = rest.popFirst(), rest.count >= Int(length)
        else { return nil }
        let isOfThisBoot = rest.prefix(Int(length)).elementsEqual(boot.utf8)
        self.init()
        (self.version, self.fence, self.number) = (version, fence, number)
        (self.count, self.holder) = (Int64(bitPattern: count), holder)
        value = kind == 1 ? Data(rest.dropFirst(Int(length))) : nil
        end = ending == Self.none ? nil : isOfThisBoot ? .nanoseconds(Int64(clamping: ending)) : .zero
    }

    private static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    private static func take(_ bytes: inout ArraySlice<UInt8>) -> UInt64? {
        guard bytes.count >= 8 else { return nil }
        defer { bytes = bytes.dropFirst(8) }
        return bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// FNV-1a, against damage and not against attackers.
    private static func checksum(_ bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}

extension Duration {
    /// The duration in nanoseconds, which a signed number of 64 bits holds for 292 years.
    fileprivate var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, isOver) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return isOver ? (seconds < 0 ? .min : .max) : whole + attoseconds / 1_000_000_000
    }
}
