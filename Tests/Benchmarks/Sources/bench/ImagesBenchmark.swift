import CAllocations
import Larkspur
import LarkspurImages
import LarkspurTesting

/// The cost of images that are in the memory cache of a loader, as cells of a list ask for them.
struct ImagesBenchmark {
    let count: Int

    private struct PlainDecoder: ImageDecoding {
        func decode(_ data: Data, thumbnail size: PixelSize?) throws -> DecodedImage {
            #if canImport(CoreGraphics)
                throw RequestError(.unsupportedImageFormat, "this benchmark runs on Linux")
            #else
                DecodedImage(PixelBuffer(size: size ?? PixelSize(width: 1, height: 1)))
            #endif
        }
    }

    /// Prints the figures, and returns those of a hit with a URL as text, which is parsed each time: the time in
    /// microseconds, and the number of allocations.
    func run() async throws -> (microseconds: Double, allocations: Double) {
        let loader = ImageLoader(
            session: Session(transport: StubTransport { _ in .text("image") }), decoder: PlainDecoder())
        let size = PixelSize(width: 40, height: 40)
        let texts = (0..<500).map { "https://images.example.org/photos/2026/\($0).jpg" }
        let urls = try texts.map { try $0.asRequestURL() }
        for url in urls { _ = try await loader.load(url, thumbnail: size).image }
        let parsed = try measure("parsed") { loader.load(urls[$0 % urls.count], thumbnail: size) }
        let text = try measure("text") { loader.load(texts[$0 % texts.count], thumbnail: size) }
        precondition(loader.statistics.exchanges == urls.count, "each image is requested once")
        print("scenario=images metric=hit_us parsed=\(parsed.microseconds) text=\(text.microseconds)")
        return text
    }

    private func measure(_ name: String, _ load: (Int) -> ImageReceipt) throws -> (
        microseconds: Double, allocations: Double
    ) {
        for index in 0..<count / 10 { _ = try load(index).result?.get() }  // warm-up
        var pixels = 0
        larkspur_count_allocations()
        let allocations = larkspur_allocations()
        let start = ContinuousClock.now
        for index in 0..<count {
            guard let image = try load(index).result?.get() else { preconditionFailure("the image is in the cache") }
            pixels += image.size.width
        }
        let each = (ContinuousClock.now - start) / .microseconds(1) / Double(count)
        precondition(pixels == count * 40, "each image is a thumbnail")
        let allocationsEach = Double(larkspur_allocations() - allocations) / Double(count)
        print("scenario=images variant=\(name) allocations=\((allocationsEach * 100).rounded() / 100)")
        return ((each * 100).rounded() / 100, allocationsEach)
    }
}
