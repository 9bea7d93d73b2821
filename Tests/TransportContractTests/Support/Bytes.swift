import Foundation

/// The bytes of a body. Not a collection: if two collections differ, an expectation computes and prints the difference,
/// which takes minutes and megabytes for large bodies.
struct Bytes: Sendable, CustomStringConvertible {
    let array: [UInt8]

    init(_ bytes: Data) { array = Array(bytes) }

    var count: Int { array.count }
    var isEmpty: Bool { array.isEmpty }

    var description: String { "\(count) bytes: \(array.prefix(32))\(count > 32 ? "…" : "")" }

    static func == (left: Bytes, right: [UInt8]) -> Bool { left.array == right }
}
