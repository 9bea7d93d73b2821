import Larkspur

/// A decoder of images.
///
/// The loader calls a decoder on a thread that may block. Several threads may call it at the same time.
public protocol ImageDecoding: Sendable {
    /// Decodes an image.
    ///
    /// - Parameters:
    ///   - data: The bytes of a file.
    ///   - size: The bounds of a thumbnail. The result keeps the proportions of the image, fits into the bounds, and is
    ///     never larger than the image. Nil means the size of the image.
    func decode(_ data: Data, thumbnail size: PixelSize?) throws -> DecodedImage

    /// Decodes a preview of an image whose file has not arrived completely.
    ///
    /// The loader calls this method for receipts with previews only, a few times for each file. The default
    /// implementation throws `.unsupportedImageFormat`: the decoder makes no previews.
    ///
    /// - Parameters:
    ///   - data: The first bytes of a file.
    ///   - size: The bounds of a thumbnail, as for ``decode(_:thumbnail:)``.
    /// - Returns: The preview, with the size that the image will have; nil if more bytes are needed.
    /// - Throws: An error if no preview of this file is possible. The loader then stops asking, and loads the image
    ///   as usual.
    func decodePreview(_ data: Data, thumbnail size: PixelSize?) throws -> DecodedImage?
}

extension ImageDecoding {
    public func decodePreview(_ data: Data, thumbnail size: PixelSize?) throws -> DecodedImage? {
        throw RequestError(.unsupportedImageFormat, "the decoder makes no previews")
    }
}

extension ImageDecoding where Self == SystemImageDecoder {
    /// The decoder of the system, with the default limits.
    public static var system: Self { SystemImageDecoder() }
}

/// The limits of a decoder.
public struct ImageLimits: Sendable, Hashable {
    /// The maximum number of pixels of a file's image; 100 million by default. A larger image fails with
    /// `.imageTooLarge`, also for a thumbnail.
    public var maximumPixels = 100_000_000
    /// The maximum width and height; 65,535 by default.
    public var maximumSide = 65_535

    /// Creates the default limits and passes them to the closure for changes.
    public init(_ configure: (inout ImageLimits) -> Void = { _ in }) { configure(&self) }

    /// Checks the size of a file's image.
    ///
    /// - Throws: `RequestError` with the code `.imageTooLarge`.
    public func check(_ size: PixelSize) throws(RequestError) {
        guard max(size.width, size.height) <= maximumSide, let area = size.area, area <= maximumPixels else {
            throw RequestError(
                .imageTooLarge,
                "the image has \(size) pixels; the limits are \(maximumPixels) pixels and \(maximumSide) a side "
                    + "(ImageLimits)")
        }
    }
}
