#if canImport(CoreGraphics)
    import CoreGraphics
#endif

/// A decoded image.
///
/// On Apple platforms it is a `CGImage`, elsewhere a ``PixelBuffer``.
public struct DecodedImage: Sendable {
    #if canImport(CoreGraphics)
        private let content: SharedImage

        /// Creates an image.
        ///
        /// - Parameters:
        ///   - image: The decoded image.
        ///   - sourceSize: The size of the file's image; that of `image` by default.
        public init(_ image: CGImage, sourceSize: PixelSize? = nil) {
            content = SharedImage(image: image)
            size = PixelSize(width: image.width, height: image.height)
            self.sourceSize = sourceSize ?? size
            cost = image.bytesPerRow * image.height
        }

        /// The image, for drawing.
        public var cgImage: CGImage { content.image }
    #else
        /// The pixels.
        public let pixels: PixelBuffer

        /// Creates an image.
        ///
        /// - Parameters:
        ///   - pixels: The pixels.
        ///   - sourceSize: The size of the file's image; that of `pixels` by default.
        public init(_ pixels: PixelBuffer, sourceSize: PixelSize? = nil) {
            self.pixels = pixels
            size = pixels.size
            self.sourceSize = sourceSize ?? size
            cost = pixels.bytes.count
        }
    #endif

    /// The size in pixels.
    public let size: PixelSize
    /// The size of the file's image, which is larger than ``size`` for a thumbnail.
    public let sourceSize: PixelSize
    /// The number of bytes of the pixels in memory.
    public let cost: Int
}

#if canImport(CoreGraphics)
    /// A `CGImage` cannot be changed, but some SDKs do not declare it `Sendable`.
    private struct SharedImage: @unchecked Sendable {  // rule R6: immutable
        let image: CGImage
    }
#endif
