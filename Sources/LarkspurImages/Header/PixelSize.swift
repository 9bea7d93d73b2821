import Larkspur

/// A width and a height in pixels.
public struct PixelSize: Sendable, Hashable, CustomStringConvertible {
    /// The width.
    public var width: Int
    /// The height.
    public var height: Int

    /// Creates a size.
    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// The width and the height, as in `640 × 480`.
    public var description: String { "\(width) × \(height)" }

    /// The number of pixels; nil if a side is negative or the number is too large for an `Int`.
    var area: Int? {
        guard width >= 0, height >= 0 else { return nil }
        let (product, overflow) = width.multipliedReportingOverflow(by: height)
        return overflow ? nil : product
    }

    /// Checks the bounds of a thumbnail.
    func checkBounds() throws(RequestError) {
        guard width > 0, height > 0 else {
            throw RequestError(.invalidRequest, "a thumbnail cannot have \(self) pixels")
        }
    }

    /// The size with the sides exchanged.
    var transposed: PixelSize { PixelSize(width: height, height: width) }

    /// Returns the largest size with the same proportions that fits into `bounds` and is not larger than this size.
    /// Neither side is less than 1.
    public func fitting(in bounds: PixelSize) -> PixelSize {
        guard width > bounds.width || height > bounds.height else { return self }
        let factor = min(Double(bounds.width) / Double(width), Double(bounds.height) / Double(height))
        func scaled(_ side: Int, _ bound: Int) -> Int {
            min(max(1, Int((Double(side) * factor).rounded())), bound, side)
        }
        return PixelSize(width: scaled(width, bounds.width), height: scaled(height, bounds.height))
    }
}
