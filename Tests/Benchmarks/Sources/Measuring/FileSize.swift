import Foundation

extension URL {
    /// The file's size in bytes.
    public var size: Int {
        get throws { try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0 }
    }
}
