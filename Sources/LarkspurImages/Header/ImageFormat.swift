/// A format of images that ``ImageHeader`` recognises.
public struct ImageFormat: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// The media type.
    public let rawValue: String

    /// Creates a format with a media type.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// PNG.
    public static let png = ImageFormat(rawValue: "image/png")
    /// JPEG.
    public static let jpeg = ImageFormat(rawValue: "image/jpeg")
    /// GIF.
    public static let gif = ImageFormat(rawValue: "image/gif")
    /// WebP.
    public static let webp = ImageFormat(rawValue: "image/webp")
    /// AVIF.
    public static let avif = ImageFormat(rawValue: "image/avif")
    /// HEIF, usually with HEVC, as cameras of phones write it.
    public static let heif = ImageFormat(rawValue: "image/heif")

    /// The media type.
    public var description: String { rawValue }
}
