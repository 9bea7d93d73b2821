#if os(Linux)
    import CLarkspurImages
    import Larkspur
    import TestSupport
    import Testing

    @testable import LarkspurImages

    @Suite("Decoding with the libraries of the system", .limited)
    struct SystemImageDecoderTests {
        private static let decoder = SystemImageDecoder()

        /// The samples whose library this machine has; all if the environment says that it has all libraries.
        private static let present = Sample.decodable.filter {
            if getenv("LARKSPUR_IMAGE_LIBRARIES") != nil { return true }
            do throws(RequestError) {
                return try decoder.decode($0).size.width > 0
            } catch {
                return error.code != .imageLibraryMissing
            }
        }

        @Test("An image has the size of its header, and opaque pixels")
        func sizes() throws {
            for sample in Self.present {
                let image = try Self.decoder.decode(sample)
                #expect(image.size == (try ImageHeader(sample)).size)
                #expect(image.cost == image.size.width * image.size.height * 4)
                #expect(image.pixels.bytes.enumerated().allSatisfy { $0.offset % 4 != 3 || $0.element == 255 })
            }
        }

        @Test("Photos of one color have that color", arguments: [nil, PixelSize(width: 5, height: 5)])
        func colors(_ thumbnail: PixelSize?) throws {
            for sample in [Sample.jpeg, Sample.oddJPEG, Sample.progressiveJPEG, Sample.lossyWebP, Sample.losslessWebP]
            where Self.present.contains(sample) {
                let image = try Self.decoder.decode(sample, thumbnail: thumbnail)
                for (index, byte) in image.pixels.bytes.enumerated() {
                    #expect(abs(Int(byte) - [200, 100, 50, 255][index % 4]) <= 6)
                }
            }
        }

        @Test(
            "The pixels of a PNG are exact, with and without interlacing",
            arguments: [Sample.png, Sample.interlacedPNG])
        func exact(_ sample: Data) throws {
            guard Self.present.contains(sample) else { return }
            let pixels = try Self.decoder.decode(sample).pixels
            for y in 0..<8 {
                for x in 0..<16 {
                    let offset = (y * 16 + x) * 4
                    let expected = [x * 15, y * 30, (x ^ y) * 16 & 255, 255].map { UInt8($0) }
                    #expect(Array(pixels.bytes[offset..<offset + 4]) == expected)
                }
            }
        }

        @Test("A thumbnail is the mean of the pixels, with and without interlacing")
        func thumbnails() throws {
            guard Self.present.contains(Sample.png) else { return }
            let bounds = PixelSize(width: 4, height: 2)
            let image = try Self.decoder.decode(Sample.png, thumbnail: bounds)
            #expect(image.size == bounds)
            #expect(image.sourceSize == PixelSize(width: 16, height: 8))
            // The columns 0 to 3 and the rows 0 to 3: means of 0, 15, 30, 45 and of 0, 30, 60, 90.
            #expect(Array(image.pixels.bytes.prefix(2)) == [23, 45])
            #expect(try Self.decoder.decode(Sample.interlacedPNG, thumbnail: bounds).pixels == image.pixels)
            // Large thumbnails of an interlaced image are made from its pixels, small ones from sums.
            for width in 1...16 {
                let bounds = PixelSize(width: width, height: 8)
                let plain = try Self.decoder.decode(Sample.png, thumbnail: bounds).pixels
                #expect(try Self.decoder.decode(Sample.interlacedPNG, thumbnail: bounds).pixels == plain)
            }
        }

        @Test("A file that is too short for its pixels is refused before memory is allocated")
        func impossible() async throws {
            let error = #expect(throws: RequestError.self) {
                try Self.decoder.decode(Sample.bomb(width: 10_000, height: 10_000))
            }
            let isMissing = error?.code == .imageLibraryMissing
            #expect(isMissing || error?.message.contains("bytes cannot hold 10000 × 10000 pixels") == true)
            #expect(try ImageHeader(Sample.bomb(width: 8_000, height: 200)).fits(inFileOf: 193))
            #expect(try !ImageHeader(Sample.bomb(width: 8_000, height: 200)).fits(inFileOf: 192))
        }

        @Test("A JPEG that ends within its pixels is damaged, and a complete one without an end marker is not")
        func truncatedJPEG() async throws {
            guard Self.present.contains(Sample.jpeg) else { return }
            for sample in [Sample.cornersJPEG, Sample.progressiveJPEG] {
                let whole = try Self.decoder.decode(sample).pixels
                #expect(try Self.decoder.decode(sample.dropLast(2)).pixels == whole)
            }
            let scan = try #require(Sample.cornersJPEG.lastIndex(of: 0xDA))
            for count in scan + 11..<Sample.cornersJPEG.count - 8 {
                #expect(await code { _ = try Self.decoder.decode(Sample.cornersJPEG.prefix(count)) } == .invalidImage)
            }
        }

        @Test("Gray pixels of one bit become colors")
        func gray() throws {
            guard Self.present.contains(Sample.grayPNG) else { return }
            let bytes = try Self.decoder.decode(Sample.grayPNG).pixels.bytes
            #expect(stride(from: 0, to: 36, by: 4).map { bytes[$0] } == [255, 0, 255, 0, 255, 0, 255, 0, 255])
        }

        @Test("A bomb is refused before memory is allocated")
        func bombs() async throws {
            let bomb = Sample.bomb(width: 100_000, height: 100_000)
            #expect(await code { _ = try Self.decoder.decode(bomb) } == .imageTooLarge)
            #expect(
                await code {
                    _ = try Self.decoder.decode(bomb, thumbnail: PixelSize(width: 1, height: 1))
                } == .imageTooLarge)
            let narrow = Sample.bomb(width: 90_000, height: 2)
            #expect(await code { _ = try Self.decoder.decode(narrow) } == .imageTooLarge)
            let small = SystemImageDecoder(limits: ImageLimits { $0.maximumPixels = 127 })
            #expect(await code { _ = try small.decode(Sample.png) } == .imageTooLarge)
        }

        private func code(_ work: () throws -> Void) async -> RequestError.Code? {
            await LarkspurImagesTests.code(of: work)
        }

        @Test("Formats without a decoder fail and say so", arguments: [Sample.gif, Sample.avif])
        func unsupported(_ sample: Data) async {
            #expect(await code { _ = try Self.decoder.decode(sample) } == .unsupportedImageFormat)
        }

        @Test("A missing library is named with its package", arguments: [ImageLibrary.png, .jpeg, .webp])
        func missing(_ library: ImageLibrary) {
            let error = library.error(clarkspur_image_missing, problem: "")
            #expect(error.code == .imageLibraryMissing)
            #expect(error.message.contains(library.packages))
        }

        @Test("Truncated and damaged files fail or decode, and never end the process", arguments: 0..<10)
        func damage(_ seed: UInt64) {
            var random = SeededRandom(seed: seed)
            for sample in Sample.decodable {
                for count in 0..<sample.count where count % 7 == Int(seed) % 7 { try? attempt(sample.prefix(count)) }
                for _ in 0..<50 {
                    var data = sample
                    for _ in 0..<Int.random(in: 1...8, using: &random) {
                        data[Int.random(in: 0..<data.count, using: &random)] = .random(in: 0...255, using: &random)
                    }
                    try? attempt(data)
                }
            }
        }

        private func attempt(_ data: Data) throws {
            let limited = SystemImageDecoder(limits: ImageLimits { $0.maximumPixels = 1 << 16 })
            let image = try limited.decode(data, thumbnail: PixelSize(width: 7, height: 7))
            #expect(max(image.size.width, image.size.height) <= 7)
        }

        @Test("Pixels written as a PNG are read back")
        func writing() throws {
            guard Self.present.contains(Sample.png) else { return }
            var pixels = PixelBuffer(size: PixelSize(width: 5, height: 3), color: (10, 20, 30, 255))
            pixels.draw(PixelBuffer(size: PixelSize(width: 2, height: 2), color: (250, 0, 0, 128)), x: 4, y: -1)
            let read = try Self.decoder.decode(try pixels.png()).pixels
            #expect(read == pixels)
            #expect(Array(read.bytes[16..<20]) == [130, 10, 15, 255])
        }
    }
#endif
