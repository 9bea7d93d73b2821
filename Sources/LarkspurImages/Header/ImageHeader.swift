import Larkspur

/// The format and the size of an image, read from its first bytes without decoding.
///
///     switch ImageHeader.read(firstBytes) {
///     case .found(let header): print(header.format, header.size)
///     case .incomplete: break  // more bytes are needed
///     case .notAnImage: break
///     }
///
/// The file states the size. It can be false, so a decoder checks it again.
public struct ImageHeader: Sendable, Hashable {
    /// The format.
    public let format: ImageFormat
    /// The size in pixels as stored, before the file's ``orientation`` is applied.
    ///
    /// An AVIF or HEIF file can hold several images, such as tiles and previews; this is the size of the largest.
    public let size: PixelSize
    /// Whether the file says that it is an animation. Only WebP and AVIF say so in their first bytes.
    public let isAnimated: Bool
    /// The orientation that the file states. Only that of a JPEG is read; it is `.up` for other formats.
    public let orientation: ImageOrientation

    /// The size in pixels of the image as it is shown.
    public var uprightSize: PixelSize { orientation.isSideways ? size.transposed : size }

    /// Returns whether a file with so many bytes can hold the pixels. A small PNG with many pixels could take much
    /// memory before it is known to be damaged. Its compression makes at most 1,032 bytes of one, and a pixel has at
    /// least a bit.
    func fits(inFileOf count: Int) -> Bool { format != .png || size.height * (size.width / 8 + 1) / 1_032 <= count }

    /// The result of reading the first bytes of a file.
    public enum Reading: Sendable, Hashable {
        /// The bytes are the beginning of an image.
        case found(ImageHeader)
        /// The bytes can be the beginning of an image, but more of them are needed.
        case incomplete
        /// The bytes are not the beginning of an image in a known format.
        case notAnImage
    }

    init(
        _ format: ImageFormat, _ width: Int, _ height: Int, isAnimated: Bool = false,
        orientation: ImageOrientation = .up
    ) {
        self.format = format
        size = PixelSize(width: width, height: height)
        self.isAnimated = isAnimated
        self.orientation = orientation
    }

    /// Reads the first bytes of a file. The bytes may be those of the whole file.
    public static func read(_ bytes: Data) -> Reading {
        bytes.withUnsafeBytes { read(ImageBytes($0)) }
    }

    /// Reads the header of a whole file.
    ///
    /// - Throws: `RequestError` with the code `.invalidImage`, if the data is not an image or ends within its header.
    public init(_ data: Data) throws(RequestError) {
        switch Self.read(data) {
        case .found(let header): self = header
        case .incomplete: throw RequestError(.invalidImage, "the data ends within the header of an image")
        case .notAnImage:
            throw RequestError(.invalidImage, "the data is not a PNG, JPEG, GIF, WebP, AVIF or HEIF image")
        }
    }

    static func read(_ bytes: ImageBytes) -> Reading {
        var isBeginning = false
        for (signature, parse) in formats {
            switch bytes.matches(signature, at: 0) {
            case true?:
                do {
                    let header = try parse(bytes)
                    return header.size.width > 0 && header.size.height > 0 ? .found(header) : .notAnImage
                } catch ImageBytes.Failure.end {
                    return .incomplete
                } catch {
                    return .notAnImage
                }
            case false?: continue
            case nil: isBeginning = true
            }
        }
        return isBeginning ? .incomplete : .notAnImage
    }

    private typealias Parser = @Sendable (ImageBytes) throws -> ImageHeader

    /// The signature at the start of each format; nil stands for any byte.
    private static let formats: [([UInt8?], Parser)] = [
        ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], png),
        ([0xFF, 0xD8, 0xFF], jpeg),
        (Array("GIF87a".utf8), gif),
        (Array("GIF89a".utf8), gif),
        (Array("RIFF".utf8) + [nil, nil, nil, nil] + Array("WEBP".utf8), webp),
        (
            [nil, nil, nil, nil] + Array("ftyp".utf8),
            { try ISOMediaHeader.read($0) }
        ),
    ]

    @Sendable private static func png(_ bytes: ImageBytes) throws(ImageBytes.Failure) -> ImageHeader {
        guard try bytes.big32(8) == 13, try bytes.tag(12) == "IHDR" else { throw .damaged }
        let (width, height) = (try bytes.big32(16), try bytes.big32(20))
        guard max(width, height) <= Int(Int32.max) else { throw .damaged }
        return ImageHeader(.png, width, height)
    }

    /// Walks the segments up to the frame header. A file whose size follows with the first scan (DNL) has none there.
    @Sendable private static func jpeg(_ bytes: ImageBytes) throws(ImageBytes.Failure) -> ImageHeader {
        var offset = 2
        var orientation: ImageOrientation?
        while true {
            guard try bytes[offset] == 0xFF else { throw .damaged }
            let marker = try bytes[offset + 1]
            switch marker {
            case 0xFF: offset += 1  // a fill byte
            case 0x01, 0xD0...0xD7: offset += 2  // without a length
            case 0x00, 0xD8, 0xD9, 0xDA: throw .damaged  // data, start, end or scan before the frame
            case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
                return ImageHeader(
                    .jpeg, try bytes.big16(offset + 7), try bytes.big16(offset + 5), orientation: orientation ?? .up)
            default:
                let length = try bytes.big16(offset + 2)
                guard length >= 2 else { throw .damaged }
                if marker == 0xE1, orientation == nil {
                    orientation = ImageOrientation(exif: bytes.part(offset + 4..<offset + 2 + length))
                }
                offset += 2 + length
            }
        }
    }

    @Sendable private static func gif(_ bytes: ImageBytes) throws(ImageBytes.Failure) -> ImageHeader {
        ImageHeader(.gif, try bytes.little(6, count: 2), try bytes.little(8, count: 2))
    }

    @Sendable private static func webp(_ bytes: ImageBytes) throws(ImageBytes.Failure) -> ImageHeader {
        switch try bytes.tag(12) {
        case "VP8 ":
            guard try bytes[20] & 1 == 0, try bytes[23] == 0x9D, try bytes[24] == 0x01, try bytes[25] == 0x2A else {
                throw .damaged
            }
            return ImageHeader(
                .webp, try bytes.little(26, count: 2) & 0x3FFF, try bytes.little(28, count: 2) & 0x3FFF)
        case "VP8L":
            guard try bytes[20] == 0x2F else { throw .damaged }
            let fields = try bytes.little(21, count: 4)
            return ImageHeader(.webp, fields & 0x3FFF + 1, fields >> 14 & 0x3FFF + 1)
        case "VP8X":
            return ImageHeader(
                .webp, try bytes.little(24, count: 3) + 1, try bytes.little(27, count: 3) + 1,
                isAnimated: try bytes[20] & 2 != 0)
        default: throw .damaged
        }
    }
}
