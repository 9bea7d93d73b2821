import Foundation

extension URL {
    /// How many bytes the file has.
    public var size: Int {
        get throws { try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0 }
    }
}
