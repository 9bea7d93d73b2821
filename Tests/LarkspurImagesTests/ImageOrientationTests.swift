import Larkspur
import TestSupport
import Testing

@testable import LarkspurImages

@Suite("Orientation of JPEG images", .limited)
struct ImageOrientationTests {
    /// Exif data with some other fields and an orientation.
    private struct Exif {
        var isLittle = false
        var orientation = 6
        var type = 3
        var count = 1
        var start = 8
        var others = 2

        var bytes: [UInt8] {
            func number(_ value: Int, _ length: Int) -> [UInt8] {
                let bytes = (0..<length).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
                return isLittle ? bytes : bytes.reversed()
            }
            func entry(_ tag: Int, _ value: Int) -> [UInt8] {
                number(tag, 2) + number(type, 2) + number(count, 4) + number(value, 2) + [0, 0]
            }
            var tiff = Array((isLittle ? "II" : "MM").utf8) + number(42, 2) + number(start, 4)
            tiff += Array(repeating: 0, count: max(0, start - 8)) + number(others + 1, 2)
            for tag in 0..<others { tiff += entry(0x0100 + tag, 9) }
            return Array("Exif\0\0".utf8) + tiff + entry(0x0112, orientation) + number(0, 4)
        }
    }

    /// Returns the JPEG with segments of application data before its own ones.
    private func jpeg(_ segments: [[UInt8]], _ file: Data = Sample.cornersJPEG) -> Data {
        var data = file.prefix(2)
        for segment in segments {
            data += [0xFF, 0xE1, UInt8((segment.count + 2) >> 8), UInt8((segment.count + 2) & 0xFF)] + segment
        }
        return data + file.dropFirst(2)
    }

    @Test("The orientation is read in both byte orders, with other fields before it", arguments: [false, true])
    func reading(_ isLittle: Bool) throws {
        for orientation in ImageOrientation.allCases {
            for others in [0, 2] {
                let exif = Exif(
                    isLittle: isLittle, orientation: orientation.rawValue, start: 8 + others * 5, others: others)
                let header = try ImageHeader(jpeg([exif.bytes]))
                #expect(header.orientation == orientation)
                #expect(header.size == PixelSize(width: 16, height: 8))
                #expect(header.uprightSize.width == (orientation.rawValue < 5 ? 16 : 8))
            }
        }
    }

    @Test("Without Exif data, an image is upright; the first Exif data counts")
    func several() throws {
        #expect(try ImageHeader(Sample.cornersJPEG).orientation == .up)
        #expect(try ImageHeader(Sample.png).orientation == .up)
        let other = Array("http://ns.adobe.com/xap/1.0/\0".utf8)
        let segments = [other, Exif().bytes, Exif(orientation: 3).bytes]
        #expect(try ImageHeader(jpeg(segments)).orientation == .right)
    }

    @Test("Damaged Exif data counts as upright")
    func damaged() throws {
        var damaged = [
            Exif(orientation: 0), Exif(orientation: 9), Exif(type: 4), Exif(count: 2), Exif(start: 60_000),
        ].map(\.bytes)
        damaged[4] = Array(damaged[4].prefix(40))  // the directory begins after the end
        damaged.append(Array(Exif().bytes.prefix(30)))  // the directory ends before the field
        damaged.append(Array("Exif\0\0".utf8) + [0x49, 0x4D, 0x2A, 0, 8, 0, 0, 0])
        damaged.append(Array("Exif\0\0".utf8))
        for segment in damaged { #expect(try ImageHeader(jpeg([segment])).orientation == .up) }
    }

    @Test("A file that is cut within its Exif data is incomplete")
    func incomplete() {
        let data = jpeg([Exif().bytes])
        for count in 3..<60 { #expect(ImageHeader.read(data.prefix(count)) == .incomplete) }
    }

    @Test("Pixels are moved to their upright places", arguments: ImageOrientation.allCases)
    func moving(_ orientation: ImageOrientation) throws {
        // Three columns and two rows, numbered from 0.
        let size = PixelSize(width: 3, height: 2)
        let bytes: [UInt8] = (UInt8(0)..<6).flatMap { [$0, 7, 8, 9] }
        let buffer = try #require(PixelBuffer(size: size, bytes: bytes))
        let expected: [ImageOrientation: [UInt8]] = [
            .up: [0, 1, 2, 3, 4, 5], .upMirrored: [2, 1, 0, 5, 4, 3],
            .down: [5, 4, 3, 2, 1, 0], .downMirrored: [3, 4, 5, 0, 1, 2],
            .leftMirrored: [0, 3, 1, 4, 2, 5], .right: [3, 0, 4, 1, 5, 2],
            .rightMirrored: [5, 2, 4, 1, 3, 0], .left: [2, 5, 1, 4, 0, 3],
        ]
        let upright = buffer.upright(from: orientation)
        #expect(upright.size == (orientation.isSideways ? PixelSize(width: 2, height: 3) : size))
        #expect(stride(from: 0, to: 24, by: 4).map { upright.bytes[$0] } == expected[orientation])
        #expect(stride(from: 3, to: 24, by: 4).allSatisfy { upright.bytes[$0] == 9 })
    }

    #if os(Linux)
        @Test(
            "A decoded photo and its thumbnail are upright",
            arguments: ImageOrientation.allCases, [nil, PixelSize(width: 7, height: 4), PixelSize(width: 4, height: 7)])
        func decoding(_ orientation: ImageOrientation, _ bounds: PixelSize?) throws {
            let file = jpeg([Exif(orientation: orientation.rawValue).bytes])
            let image: DecodedImage
            do { image = try SystemImageDecoder().decode(file, thumbnail: bounds) } catch {
                // A machine without the library.
                #expect(error.code == .imageLibraryMissing && getenv("LARKSPUR_IMAGE_LIBRARIES") == nil)
                return
            }
            let upright = orientation.isSideways ? PixelSize(width: 8, height: 16) : PixelSize(width: 16, height: 8)
            #expect(image.sourceSize == upright)
            #expect(image.size == (bounds.map { upright.fitting(in: $0) } ?? upright))
            // The corners from the upper left, row by row: red, green, blue and white, if the image is upright.
            let corners: [ImageOrientation: String] = [
                .up: "rgbw", .upMirrored: "grwb", .down: "wbgr", .downMirrored: "bwrg", .leftMirrored: "rbgw",
                .right: "brwg", .rightMirrored: "wgbr", .left: "gwrb",
            ]
            let (right, bottom) = (image.size.width - 1, image.size.height - 1)
            let found = [(0, 0), (right, 0), (0, bottom), (right, bottom)].map { x, y -> Character in
                let offset = (y * image.size.width + x) * 4
                let bright = image.pixels.bytes[offset..<offset + 3].map { $0 > 125 }
                return bright == [true, true, true] ? "w" : bright[0] ? "r" : bright[1] ? "g" : "b"
            }
            #expect(String(found) == corners[orientation])
        }
    #endif
}
