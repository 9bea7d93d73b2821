import Larkspur
internal import LarkspurAnnex

/// The fields of recent heads as an archive shows them.
///
/// Most heads of a busy session are equal to an earlier one: those of requests have the session's fields, and those of
/// a server's responses differ in a date. To search their fields for secrets takes longer than the rest of an entry.
final class HARFieldMemory: Sendable {
    /// The latest head of each place, which its hash names.
    private struct Table<Head: Equatable & Sendable>: Sendable {
        private var slots = [(hash: UInt64, head: Head, fields: HARFields)?](repeating: nil, count: slotCount)

        func fields(of head: Head, _ hash: UInt64) -> HARFields? {
            guard let slot = slots[place(hash)], slot.hash == hash, slot.head == head else { return nil }
            return slot.fields
        }

        mutating func add(_ fields: HARFields, of head: Head, _ hash: UInt64) {
            slots[place(hash)] = (hash, head, fields)
        }

        private func place(_ hash: UInt64) -> Int { Int((hash ^ hash >> 32) % UInt64(slotCount)) }
    }

    private static let slotCount = 64
    /// The maximum number of bytes of a head that is kept.
    private static let sizeLimit = 4 << 10

    private let requests = Guarded(Table<HTTPHeaders>())
    private let responses = Guarded(Table<ResponseHead>())

    /// Returns the fields of a request, those of an earlier one if it has had the same.
    func fields(of request: HTTPHeaders, or compute: () -> HARFields) -> HARFields {
        // Strings that are equal have the same bytes if they have the same number of them, and if they are ASCII.
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        var size = 0
        for field in request {
            size += field.name.utf8.count + field.value.utf8.count
            hash = (hash ^ UInt64(field.name.utf8.count)) &* 0x100_0000_01B3
            hash = (hash ^ UInt64(field.value.utf8.count)) &* 0x100_0000_01B3
        }
        if let known = requests.withLock({ $0.fields(of: request, hash) }) { return known }
        let fields = compute()
        if size <= Self.sizeLimit, Self.isASCII(request) { requests.withLock { $0.add(fields, of: request, hash) } }
        return fields
    }

    /// Returns the fields of a response, those of an earlier one if it has had the same.
    func fields(of head: ResponseHead, or compute: () -> HARFields) -> HARFields {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        head.rawFields.withUnsafeBytes { bytes in
            for offset in stride(from: 0, to: bytes.count - 7, by: 8) {
                hash = (hash ^ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) &* 0x100_0000_01B3
                hash ^= hash >> 29
            }
            for byte in bytes.suffix(bytes.count % 8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        }
        if let known = responses.withLock({ $0.fields(of: head, hash) }) { return known }
        let fields = compute()
        if head.rawFields.count <= Self.sizeLimit { responses.withLock { $0.add(fields, of: head, hash) } }
        return fields
    }

    private static func isASCII(_ fields: HTTPHeaders) -> Bool {
        fields.allSatisfy { field in
            field.name.utf8.allSatisfy { $0 < 0x80 } && field.value.utf8.allSatisfy { $0 < 0x80 }
        }
    }
}

extension HARFieldMemory: CustomReflectable {
    /// A mirror without children: heads have secrets.
    var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
