import Larkspur
import TestSupport
import Testing

@testable import LarkspurImages

@Suite("Headers of images", .limited)
struct ImageHeaderTests {
    private static let expected: [(Data, ImageFormat, PixelSize)] = [
        (Sample.png, .png, PixelSize(width: 16, height: 8)),
        (Sample.grayPNG, .png, PixelSize(width: 9, height: 3)),
        (Sample.jpeg, .jpeg, PixelSize(width: 16, height: 8)),
        (Sample.progressiveJPEG, .jpeg, PixelSize(width: 16, height: 8)),
        (Sample.gif, .gif, PixelSize(width: 16, height: 8)),
        (Sample.lossyWebP, .webp, PixelSize(width: 16, height: 8)),
        (Sample.losslessWebP, .webp, PixelSize(width: 16, height: 8)),
        (Sample.avif, .avif, PixelSize(width: 640, height: 480)),
    ]

    @Test("Format and size are read without decoding", arguments: 0..<8)
    func formats(_ index: Int) throws {
        let (data, format, size) = Self.expected[index]
        let header = try ImageHeader(data)
        #expect(header.format == format)
        #expect(header.size == size)
        #expect(!header.isAnimated)
    }

    @Test("Every shorter beginning needs more bytes, and then the result stays the same", arguments: 0..<8)
    func beginnings(_ index: Int) {
        let data = Self.expected[index].0
        let whole = ImageHeader.read(data)
        var isFound = false
        for count in 0...data.count {
            let reading = ImageHeader.read(data.prefix(count))
            if isFound { #expect(reading == whole) } else { #expect(reading == .incomplete || reading == whole) }
            isFound = isFound || reading == whole
        }
        #expect(isFound)
    }

    @Test("The canvas of an extended WebP is its size, and the flag of an animation is read")
    func extendedWebP() throws {
        let bytes: [UInt8] =
            Array("RIFF".utf8) + [30, 0, 0, 0] + Array("WEBPVP8X".utf8) + [
                10, 0, 0, 0, 2, 0, 0, 0, 0xFF, 1, 0, 0xE7, 3, 0,
            ]
        let header = try ImageHeader(Data(bytes))
        #expect(header.size == PixelSize(width: 512, height: 1000))
        #expect(header.isAnimated)
    }

    @Test(
        "Other data is not an image",
        arguments: ["<html>", "%PDF-1.7", "RIFF\0\0\0\0WAVE", "\0\0\0\u{18}ftypisom\0\0\0\0isomiso2"])
    func others(_ text: String) {
        #expect(ImageHeader.read(Data(text.utf8)) == .notAnImage)
    }

    @Test("A side of 0 pixels is not an image")
    func zero() {
        #expect(ImageHeader.read(Sample.bomb(width: 0, height: 9)) == .notAnImage)
    }

    @Test("A JPEG of segments alone ends")
    func segments() {
        let data = Data(
            [0xFF, 0xD8] + [UInt8](repeating: 0, count: 400_000).indices.map { [0xFF, 0xE0, 0, 2][$0 % 4] })
        #expect(ImageHeader.read(data) == .incomplete)
        #expect(ImageHeader.read(Data([0xFF, 0xD8, 0xFF, 0xE0, 0, 1, 0, 0])) == .notAnImage)
    }

    @Test("Damaged headers have some result", arguments: 0..<20)
    func damage(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for sample in Sample.all {
            for _ in 0..<200 {
                var data = sample.prefix(Int.random(in: 1...sample.count, using: &random))
                for _ in 0..<Int.random(in: 1...6, using: &random) {
                    data[Int.random(in: 0..<data.count, using: &random)] = .random(in: 0...255, using: &random)
                }
                if case .found(let header) = ImageHeader.read(data) { #expect(header.size.width > 0) }
            }
        }
    }

    @Test("Thumbnails keep proportions, fit, and are never larger than the image")
    func fitting() {
        func fit(_ width: Int, _ height: Int, _ bound: Int) -> PixelSize {
            PixelSize(width: width, height: height).fitting(in: PixelSize(width: bound, height: bound))
        }
        #expect(fit(400, 200, 100) == PixelSize(width: 100, height: 50))
        #expect(fit(200, 400, 100) == PixelSize(width: 50, height: 100))
        #expect(fit(30, 20, 100) == PixelSize(width: 30, height: 20))
        #expect(fit(10_000, 1, 100) == PixelSize(width: 100, height: 1))
    }
}
