#if os(Linux)
    import Larkspur
    import TestSupport
    import Testing

    @testable import LarkspurImages

    @Suite("Previews with the libraries of the system", .limited)
    struct SystemImagePreviewTests {
        private let decoder = SystemImageDecoder()

        /// Whether this machine has the library of a sample. It must if the environment says that it has all libraries.
        private func isPresent(_ sample: Data) -> Bool {
            if getenv("LARKSPUR_IMAGE_LIBRARIES") != nil { return true }
            do throws(RequestError) {
                return try decoder.decode(sample).size.width > 0
            } catch {
                return error.code != .imageLibraryMissing
            }
        }

        /// The previews of a file at each twentieth, and the last one with its whole data.
        private func previews(of file: Data, thumbnail: PixelSize? = nil) throws -> [DecodedImage] {
            try (1...20).compactMap { part in
                try decoder.decodePreview(file.prefix(file.count * part / 20), thumbnail: thumbnail)
            }
        }

        /// The number of rows from the top without a transparent pixel.
        private func rows(of image: DecodedImage) -> Int {
            let (width, bytes) = (image.size.width, image.pixels.bytes)
            return (0..<image.size.height).prefix { row in
                (0..<width).allSatisfy { bytes[(row * width + $0) * 4 + 3] == 255 }
            }.count
        }

        /// The mean difference of the colors.
        private func difference(_ first: DecodedImage, _ second: DecodedImage) -> Double {
            let sum = zip(first.pixels.bytes, second.pixels.bytes).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
            return Double(sum) / Double(first.pixels.bytes.count)
        }

        @Test("The rows of a file that have arrived are exact, and the others transparent")
        func rows() throws {
            var random = SeededRandom(seed: 1)
            let bytes = (0..<64 * 64 * 4).map { $0 % 4 == 3 ? 255 : UInt8.random(in: 0...255, using: &random) }
            let noise = PixelBuffer(size: PixelSize(width: 64, height: 64), bytes: bytes)
            for file in [try? noise?.png(), Sample.largeWebP].compactMap(\.self) where isPresent(file) {
                let whole = try decoder.decode(file)
                let previews = try previews(of: file)
                #expect(previews.count > 4)
                var last = 0
                for preview in previews {
                    #expect(preview.size == whole.size)
                    let rows = rows(of: preview)
                    #expect(rows >= last)
                    last = rows
                    let end = rows * 64 * 4
                    #expect(preview.pixels.bytes[..<end] == whole.pixels.bytes[..<end])
                    #expect(preview.pixels.bytes[end...].allSatisfy { $0 == 0 })
                }
                #expect(rows(of: previews[0]) < 64)
                #expect(previews.last?.pixels == whole.pixels)
            }
        }

        @Test("A JPEG is decoded from the top")
        func baseline() throws {
            guard isPresent(Sample.largeJPEG) else { return }
            let whole = try decoder.decode(Sample.largeJPEG)
            let previews = try previews(of: Sample.largeJPEG)
            let counts = previews.map { rows(of: $0) }
            #expect(counts == counts.sorted())
            #expect((1..<64).contains(counts[0]))
            #expect(Set(counts).count >= 4)
            for (preview, count) in zip(previews, counts) where count > 18 {
                // The end of the data may have cut the last block of 16 rows, which blends into a row on either side.
                let end = (count - 18) * 64 * 4
                let isExact = preview.pixels.bytes[..<end] == whole.pixels.bytes[..<end]
                #expect(isExact)
            }
            #expect(previews.last?.pixels == whole.pixels)
        }

        @Test(
            "Progressive files are whole early, and become sharper",
            arguments: [Sample.largeProgressiveJPEG, Sample.largeInterlacedPNG])
        func progressive(_ file: Data) throws {
            guard isPresent(file) else { return }
            let whole = try decoder.decode(file)
            let early = try previews(of: file).filter { rows(of: $0) == 64 }
            #expect(early.count >= 5)
            let differences = early.map { difference($0, whole) }
            #expect(differences[0] > 1)
            #expect(differences[0] < 20)
            #expect(differences.last == 0)
            #expect(zip(differences, differences.dropFirst()).allSatisfy { $1 <= $0 + 1 })
        }

        @Test("A preview has the size that the thumbnail will have", arguments: Sample.large)
        func thumbnails(_ file: Data) throws {
            guard isPresent(file) else { return }
            for bounds in [PixelSize(width: 20, height: 30), PixelSize(width: 7, height: 3)] {
                let whole = try decoder.decode(file, thumbnail: bounds)
                let previews = try previews(of: file, thumbnail: bounds)
                #expect(previews.count > 4)
                for preview in previews {
                    #expect(preview.size == whole.size)
                    #expect(preview.sourceSize == PixelSize(width: 64, height: 64))
                }
                let last = try #require(previews.last)
                #expect(difference(last, whole) < 30)
            }
        }

        @Test("A sideways photo has upright previews")
        func orientation() throws {
            // An Exif segment with the orientation 6 after the start of the file.
            let exif: [UInt8] =
                [0xFF, 0xE1, 0, 34] + Array("Exif\0\0MM\0*\0\0\0\u{8}\0\u{1}".utf8)
                + [0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0]
            let file = Sample.cornersJPEG.prefix(2) + exif + Sample.cornersJPEG.dropFirst(2)
            guard isPresent(file) else { return }
            #expect(try decoder.decodePreview(file)?.size == PixelSize(width: 8, height: 16))
            #expect(try decoder.decodePreview(file)?.pixels == decoder.decode(file).pixels)
        }

        @Test("The start of a file has no preview yet, and that of a file without previews an error")
        func errors() throws {
            for file in Sample.large where isPresent(file) {
                for count in [0, 1, 10, 24] { #expect(try decoder.decodePreview(file.prefix(count)) == nil) }
            }
            func code(_ data: Data, _ thumbnail: PixelSize? = nil) -> RequestError.Code? {
                do throws(RequestError) {
                    _ = try decoder.decodePreview(data, thumbnail: thumbnail)
                    return nil
                } catch {
                    return error.code
                }
            }
            #expect(code(Sample.bomb(width: 100_000, height: 100_000)) == .imageTooLarge)
            #expect(
                code(Sample.bomb(width: 100_000, height: 100_000), PixelSize(width: 1, height: 1)) == .imageTooLarge)
            #expect(code(Sample.gif) == .unsupportedImageFormat)
            #expect(code(Data("no image".utf8)) == .invalidImage)
            #expect(code(Sample.png, PixelSize(width: 0, height: 1)) == .invalidRequest)
        }

        @Test("A file that ends in a table between its scans is damaged, not empty")
        func truncated() {
            guard isPresent(Sample.largeProgressiveJPEG) else { return }
            let file = Sample.largeProgressiveJPEG
            for count in file.count / 4..<file.count {
                guard let image = try? decoder.decode(file.prefix(count)) else { continue }
                #expect(image.pixels.bytes.enumerated().allSatisfy { $0.offset % 4 != 3 || $0.element == 255 })
            }
        }

        @Test("Hostile prefixes fail or decode, and never end the process", arguments: 0..<10)
        func damage(_ seed: UInt64) {
            var random = SeededRandom(seed: seed)
            let limited = SystemImageDecoder(limits: ImageLimits { $0.maximumPixels = 1 << 16 })
            for sample in Sample.large + Sample.decodable {
                for _ in 0..<100 {
                    var data = sample.prefix(Int.random(in: 1...sample.count, using: &random))
                    for _ in 0..<Int.random(in: 0...6, using: &random) {
                        data[Int.random(in: 0..<data.count, using: &random)] = .random(in: 0...255, using: &random)
                    }
                    let bounds = Bool.random(using: &random) ? PixelSize(width: 7, height: 9) : nil
                    guard let image = try? limited.decodePreview(data, thumbnail: bounds) else { continue }
                    #expect(image.pixels.bytes.count == image.size.width * image.size.height * 4)
                    if bounds != nil { #expect(max(image.size.width, image.size.height) <= 9) }
                }
            }
        }
    }
#endif
