import CLarkspurImages
import Larkspur

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Pixels in memory: four bytes each for red, green, blue and alpha, row by row from the top, not premultiplied.
public struct PixelBuffer: Sendable, Hashable {
    /// The size.
    public let size: PixelSize
    /// The bytes: four times the number of pixels.
    public private(set) var bytes: [UInt8]

    /// Creates a buffer of one color. Negative sides count as 0.
    ///
    /// - Parameter color: Red, green, blue and alpha; transparent by default.
    public init(size: PixelSize, color: (UInt8, UInt8, UInt8, UInt8) = (0, 0, 0, 0)) {
        self.size = PixelSize(width: max(0, size.width), height: max(0, size.height))
        let count = self.size.width * self.size.height
        bytes = [UInt8](unsafeUninitializedCapacity: count * 4) { buffer, initialized in
            let channels = [color.0, color.1, color.2, color.3]
            for index in 0..<count * 4 { buffer.initializeElement(at: index, to: channels[index & 3]) }
            initialized = count * 4
        }
    }

    /// Creates a buffer of these bytes. Returns nil if their number is not four times the number of pixels.
    public init?(size: PixelSize, bytes: [UInt8]) {
        guard let area = size.area, bytes.count / 4 == area, bytes.count % 4 == 0 else { return nil }
        self.size = size
        self.bytes = bytes
    }

    /// Draws another buffer over this one. Parts outside of this buffer are not drawn.
    ///
    /// - Parameters:
    ///   - image: The pixels to draw. Their alpha blends them with the pixels below.
    ///   - x: The column of the left edge.
    ///   - y: The row of the upper edge.
    public mutating func draw(_ image: PixelBuffer, x: Int, y: Int) {
        for row in max(0, -y)..<max(max(0, -y), min(image.size.height, size.height - y)) {
            for column in max(0, -x)..<max(max(0, -x), min(image.size.width, size.width - x)) {
                let source = (row * image.size.width + column) * 4
                let target = ((row + y) * size.width + column + x) * 4
                blend(image.bytes, source, target)
            }
        }
    }

    /// Returns the pixels as they are shown, made from pixels that are stored in this orientation.
    func upright(from orientation: ImageOrientation) -> PixelBuffer {
        let (width, height) = (size.width, size.height)
        // The position of the first pixel, and the distances to the next one in its row and to the next row.
        let (first, across, down) =
            switch orientation {
            case .up: (0, 1, width)
            case .upMirrored: (width - 1, -1, width)
            case .down: (width * height - 1, -1, -width)
            case .downMirrored: ((height - 1) * width, 1, -width)
            case .leftMirrored: (0, width, 1)
            case .right: ((height - 1) * width, -width, 1)
            case .rightMirrored: (width * height - 1, -width, -1)
            case .left: (width - 1, width, -1)
            }
        if orientation == .up { return self }
        let turned = orientation.isSideways ? size.transposed : size
        let count = bytes.count
        let result = bytes.withUnsafeBytes { source in
            [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
                let target = UnsafeMutableRawBufferPointer(buffer)
                for row in 0..<turned.height {
                    for column in 0..<turned.width {
                        let pixel = source.loadUnaligned(
                            fromByteOffset: (first + column * across + row * down) * 4, as: UInt32.self)
                        target.storeBytes(of: pixel, toByteOffset: (row * turned.width + column) * 4, as: UInt32.self)
                    }
                }
                initialized = count
            }
        }
        return PixelBuffer(size: turned, bytes: result) ?? self
    }

    private mutating func blend(_ other: [UInt8], _ source: Int, _ target: Int) {
        let above = Int(other[source + 3])
        let below = Int(bytes[target + 3]) * (255 - above)
        let alpha = above * 255 + below
        guard alpha > 0 else { return }
        for channel in 0..<3 {
            let sum = Int(other[source + channel]) * above * 255 + Int(bytes[target + channel]) * below
            bytes[target + channel] = UInt8((sum + alpha / 2) / alpha)
        }
        bytes[target + 3] = UInt8((alpha + 127) / 255)
    }

    /// Returns the pixels as a PNG file.
    ///
    /// - Throws: `RequestError` with the code `.imageLibraryMissing` if the system has no libpng, or `.invalidImage`
    ///   for an empty buffer.
    public func png() throws(RequestError) -> Data {
        guard size.width > 0, size.height > 0, max(size.width, size.height) <= Int(Int32.max) else {
            throw RequestError(.invalidImage, "a PNG cannot have \(size) pixels")
        }
        var encoding = clarkspur_image_encoding()
        encoding.width = UInt32(size.width)
        encoding.height = UInt32(size.height)
        let outcome = bytes.withUnsafeBufferPointer { pixels in
            encoding.pixels = pixels.baseAddress
            return clarkspur_png_encode(&encoding)
        }
        guard outcome == clarkspur_image_complete, let encoded = encoding.bytes else {
            throw ImageLibrary.png.error(outcome, problem: problemText(&encoding.problem))
        }
        defer { free(encoded) }
        return Data(bytes: encoded, count: encoding.count)
    }
}
