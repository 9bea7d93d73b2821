import Larkspur

#if canImport(ImageIO)
    import CoreGraphics
    import CoreFoundation
    import ImageIO
#endif

/// The decoder of the system: ImageIO on Apple platforms; libpng, TurboJPEG and libwebp elsewhere.
///
/// Elsewhere than on Apple platforms, the libraries are found at run time. A missing library fails with
/// `.imageLibraryMissing`, and the message names the package to install. GIF, AVIF, HEIF and animated WebP images have
/// a header there, but cannot be decoded; they fail with `.unsupportedImageFormat`. Color profiles are ignored.
///
/// The decoder applies the orientation of the camera: on Apple platforms to images of all formats, elsewhere to JPEG
/// images only.
///
/// An image beyond the ``limits`` fails with `.imageTooLarge` before memory is allocated for it. A thumbnail is made
/// smaller while it is decoded.
public struct SystemImageDecoder: ImageDecoding {
    /// The limits.
    public let limits: ImageLimits

    /// Creates a decoder.
    public init(limits: ImageLimits = ImageLimits()) { self.limits = limits }

    /// Decodes an image.
    ///
    /// - Throws: `RequestError` with the code `.invalidImage`, `.imageTooLarge`, `.unsupportedImageFormat` or
    ///   `.imageLibraryMissing`; `.invalidRequest` for bounds without a pixel.
    public func decode(_ data: Data, thumbnail bounds: PixelSize? = nil) throws(RequestError) -> DecodedImage {
        try bounds?.checkBounds()
        #if canImport(ImageIO)
            guard let file = Self.file(data), let source = CGImageSourceCreateWithData(file, nil),
                let header = Self.header(of: source)
            else { throw RequestError(.invalidImage, "the data is not an image that this system can read") }
            guard let image = try image(of: source, header, bounds) else {
                throw RequestError(.invalidImage, "the image is damaged")
            }
            return image
        #else
            let header = try ImageHeader(data)
            let (library, stored) = try plan(header, bounds)
            guard header.fits(inFileOf: data.count) else {
                throw RequestError(.invalidImage, "\(data.count) bytes cannot hold \(header.size) pixels")
            }
            let pixels = try library.pixels(of: data, header, at: stored)
            return DecodedImage(pixels.upright(from: header.orientation), sourceSize: header.uprightSize)
        #endif
    }

    /// Decodes the part of an image that has arrived, within the same limits.
    ///
    /// Elsewhere than on Apple platforms, pixels that have not arrived are transparent, and damage counts as the end of
    /// the data. An interlaced PNG and a progressive JPEG become sharper with more data; other files are decoded from
    /// the top. Returns nil if more bytes are needed.
    ///
    /// - Throws: `RequestError` as ``decode(_:thumbnail:)`` does. Animated images have no previews.
    public func decodePreview(_ data: Data, thumbnail bounds: PixelSize? = nil) throws(RequestError) -> DecodedImage? {
        try bounds?.checkBounds()
        #if canImport(ImageIO)
            let source = CGImageSourceCreateIncremental(nil)
            guard let file = Self.file(data) else { return nil }
            CGImageSourceUpdateData(source, file, false)
            guard let header = Self.header(of: source) else { return nil }
            return try image(of: source, header, bounds)
        #else
            let header: ImageHeader
            switch ImageHeader.read(data) {
            case .found(let found): header = found
            case .incomplete: return nil
            case .notAnImage: throw RequestError(.invalidImage, "the data is not an image in a known format")
            }
            let (library, stored) = try plan(header, bounds)
            return try library.preview(of: data, header, at: stored).map {
                DecodedImage($0.upright(from: header.orientation), sourceSize: header.uprightSize)
            }
        #endif
    }

    #if canImport(ImageIO)
        private static func file(_ data: Data) -> CFData? {
            data.withUnsafeBytes { CFDataCreate(nil, $0.bindMemory(to: UInt8.self).baseAddress, $0.count) }
        }

        /// Reads the size. ImageIO knows more formats than the parser of ``ImageHeader`` does.
        private static func header(of source: CGImageSource) -> ImageHeader? {
            guard let properties = CGImageSourceCopyPropertiesAtIndex(source, 0, nil),
                let width = number(kCGImagePropertyPixelWidth, in: properties),
                let height = number(kCGImagePropertyPixelHeight, in: properties)
            else { return nil }
            let orientation = number(kCGImagePropertyOrientation, in: properties).flatMap(ImageOrientation.init)
            return ImageHeader(ImageFormat(rawValue: ""), width, height, orientation: orientation ?? .up)
        }

        private func image(
            of source: CGImageSource, _ header: ImageHeader, _ bounds: PixelSize?
        ) throws(RequestError) -> DecodedImage? {
            try limits.check(header.size)
            let size = bounds.map { header.uprightSize.fitting(in: $0) } ?? header.uprightSize
            guard let options = Self.options(maximumSide: max(size.width, size.height)),
                let image = CGImageSourceCreateThumbnailAtIndex(source, 0, options)
            else { return nil }
            return DecodedImage(image, sourceSize: header.uprightSize)
        }

        private static func number(_ key: CFString, in properties: CFDictionary) -> Int? {
            guard let value = CFDictionaryGetValue(properties, Unmanaged.passUnretained(key).toOpaque()) else {
                return nil
            }
            let number = Unmanaged<CFNumber>.fromOpaque(value).takeUnretainedValue()
            var result = 0
            return CFNumberGetValue(number, .nsIntegerType, &result) ? result : nil
        }

        /// Returns the options of a thumbnail that is decoded at once and in the orientation of the camera.
        private static func options(maximumSide: Int) -> CFDictionary? {
            var side = maximumSide
            guard let limit = CFNumberCreate(nil, .nsIntegerType, &side), let isTrue = kCFBooleanTrue else {
                return nil
            }
            let entries: [(key: CFString, value: AnyObject)] = [
                (kCGImageSourceCreateThumbnailFromImageAlways, isTrue),
                (kCGImageSourceCreateThumbnailWithTransform, isTrue),
                (kCGImageSourceShouldCacheImmediately, isTrue),
                (kCGImageSourceThumbnailMaxPixelSize, limit),
            ]
            var keys = entries.map { UnsafeRawPointer?(Unmanaged.passUnretained($0.key).toOpaque()) }
            var values = entries.map { UnsafeRawPointer?(Unmanaged.passUnretained($0.value).toOpaque()) }
            var (keyRules, valueRules) = (kCFTypeDictionaryKeyCallBacks, kCFTypeDictionaryValueCallBacks)
            // The dictionary retains the keys and values.
            return withExtendedLifetime(entries) {
                CFDictionaryCreate(nil, &keys, &values, entries.count, &keyRules, &valueRules)
            }
        }
    #else
        /// Checks the limits, and returns the library and the size of the result before it is turned upright.
        private func plan(
            _ header: ImageHeader, _ bounds: PixelSize?
        ) throws(RequestError) -> (ImageLibrary, PixelSize) {
            try limits.check(header.size)
            let library = try library(for: header)
            let size = bounds.map { header.uprightSize.fitting(in: $0) } ?? header.uprightSize
            return (library, header.orientation.isSideways ? size.transposed : size)
        }

        private func library(for header: ImageHeader) throws(RequestError) -> ImageLibrary {
            switch header.format {
            case .png: return .png
            case .jpeg: return .jpeg
            case .webp where !header.isAnimated: return .webp
            default:
                throw RequestError(
                    .unsupportedImageFormat,
                    "images of the format \(header.format)\(header.isAnimated ? " with animation" : "") have a size "
                        + "here, but cannot be decoded")
            }
        }
    #endif
}
