import Dispatch
import Larkspur
import LarkspurAnnex
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurImages

/// A decoder whose previews are as wide as the KiB that have arrived, or as the thumbnail. The image is one pixel wide,
/// or as wide as the thumbnail.
private final class PreviewDecoder: ImageDecoding {
    enum Answer {
        case preview, needsMore, fails
    }

    private let box = Guarded<(sizes: [Int], running: Int, most: Int)>(([], 0, 0))
    private let answer: Answer
    private let gate: DispatchSemaphore?

    /// Creates a decoder. A gate holds each preview until the test signals it.
    init(_ answer: Answer = .preview, gate: DispatchSemaphore? = nil) { (self.answer, self.gate) = (answer, gate) }

    /// The number of bytes of each preview.
    var sizes: [Int] { box.withLock { $0.sizes } }
    /// The number of previews that are decoded at this time.
    var running: Int { box.withLock { $0.running } }
    /// The largest number of previews that were decoded at the same time.
    var most: Int { box.withLock { $0.most } }

    func decode(_ data: Data, thumbnail size: PixelSize?) throws -> DecodedImage {
        .plain(width: size?.width ?? 1, height: size?.height ?? 1)
    }

    func decodePreview(_ data: Data, thumbnail size: PixelSize?) throws -> DecodedImage? {
        box.withLock { box in
            box.sizes.append(data.count)
            box.running += 1
            box.most = max(box.most, box.running)
        }
        defer { box.withLock { $0.running -= 1 } }
        gate?.wait()
        switch answer {
        case .preview: return .plain(width: size?.width ?? data.count >> 10, height: size?.height ?? 1)
        case .needsMore: return nil
        case .fails: throw RequestError(.invalidImage, "no preview of this file")
        }
    }
}

/// A server that sends a file of ten parts of 10 KiB, each when the test says so.
private final class SlowServer: Sendable {
    let sent = Counter()
    private let clock = ManualClock()

    func session(headers: HTTPHeaders = [:], cache: HTTPCache? = nil) -> Session {
        let fields = Array(headers) + [HTTPHeader(name: "Content-Length", value: "102400")]
        var steps: [StubAnswer.Step] = [.head(ResponseHead(status: 200, fields: fields))]
        for _ in 0..<10 { steps += [.wait(.seconds(1)), .body(Data(count: 10 << 10))] }
        return Session(
            configuration: SessionConfiguration { $0.cache = cache },
            transport: StubTransport(clock: clock) { [sent, steps] _ in
                sent.increment()
                return StubAnswer(steps)
            })
    }

    /// Sends parts.
    func send(_ count: Int) async {
        for _ in 0..<count {
            await clock.waitForSleepers()
            clock.advance(by: .seconds(1))
        }
    }
}

@Suite("Previews of images that arrive", .limited)
struct ImagePreviewTests {
    private let server = SlowServer()
    private let url = "http://h.example/a"

    private func loader(_ decoder: any ImageDecoding, _ session: Session? = nil) -> ImageLoader {
        ImageLoader(session: session ?? server.session(), cache: nil, decoder: decoder)
    }

    @Test("Previews are shown while the file arrives, and the image comes once and last")
    func usual() async throws {
        let decoder = PreviewDecoder()
        let loader = loader(decoder)
        let receipt = loader.load(url, previews: true)
        var reader = receipt.previews.makeAsyncIterator()
        var widths: [Int] = []
        for _ in 0..<4 {
            await server.send(2)
            widths.append(try #require(await reader.next()).size.width)
            #expect(receipt.result == nil)
        }
        #expect(widths == [20, 40, 60, 80])
        await server.send(2)
        #expect(await reader.next() == nil)
        #expect(try await receipt.image.size.width == 1)
        #expect(decoder.sizes == [20, 40, 60, 80].map { $0 << 10 })
        #expect(loader.statistics.previews == 4)
        #expect(loader.statistics.decodings == 1)
        #expect(loader.statistics.exchanges == 1)
    }

    @Test("A slow reader gets the latest preview only")
    func slowReader() async throws {
        let decoder = PreviewDecoder()
        let receipt = loader(decoder).load(url, previews: true)
        let early = receipt.previews
        for count in 1...4 {
            await server.send(2)
            await poll { decoder.sizes.count == count && receipt.latestPreview?.size.width == count * 20 }
        }
        for previews in [early, receipt.previews] {
            var reader = previews.makeAsyncIterator()
            #expect(await reader.next()?.size.width == 80)
        }
        await server.send(2)
        #expect(try await receipt.image.size.width == 1)
        // After the end there is none.
        var late = receipt.previews.makeAsyncIterator()
        #expect(await late.next() == nil)
        #expect(receipt.latestPreview == nil)
    }

    @Test("Receipts that do not ask for previews have none")
    func off() async throws {
        let decoder = PreviewDecoder()
        let loader = loader(decoder)
        let receipt = loader.load(url)
        // A request without previews that is in flight stays so.
        await poll { server.sent.value == 1 }
        let late = loader.load(url, previews: true)
        await server.send(10)
        for previews in [receipt.previews, late.previews] {
            var reader = previews.makeAsyncIterator()
            #expect(await reader.next() == nil)
        }
        #expect(try await receipt.image.size.width == 1)
        #expect(try await late.image.size.width == 1)
        #expect(decoder.sizes.isEmpty)
        #expect(server.sent.value == 1)
    }

    @Test("Each thumbnail has previews in its size, from one request")
    func thumbnails() async throws {
        let decoder = PreviewDecoder()
        let loader = loader(decoder)
        let sizes = [3, 5].map { PixelSize(width: $0, height: $0) }
        let receipts = sizes.map { loader.load(url, thumbnail: $0, previews: true) }
        let other = loader.load(url, thumbnail: PixelSize(width: 7, height: 7))
        await server.send(2)
        for (receipt, size) in zip(receipts, sizes) {
            var reader = receipt.previews.makeAsyncIterator()
            #expect(await reader.next()?.size == size)
        }
        await server.send(8)
        for (receipt, size) in zip(receipts, sizes) { #expect(try await receipt.image.size == size) }
        #expect(try await other.image.size.width == 7)
        #expect(other.latestPreview == nil)
        #expect(server.sent.value == 1)
        #expect(decoder.most == 1)
    }

    @Test("A decoder that makes no previews is asked once, and the image is loaded as usual")
    func none() async throws {
        let decoder = PreviewDecoder(.fails)
        for decoder in [decoder, StubDecoder()] as [any ImageDecoding] {
            let receipt = loader(decoder).load(url, previews: true)
            await server.send(2)
            // A file that is whole before the decoder is asked has no preview.
            if let asked = decoder as? PreviewDecoder { await poll { asked.sizes.count == 1 } }
            await server.send(8)
            var reader = receipt.previews.makeAsyncIterator()
            #expect(await reader.next() == nil)
            _ = try? await receipt.image
            #expect(receipt.result != nil)
        }
        #expect(decoder.sizes == [20 << 10])
    }

    @Test("A decoder that needs more bytes is asked again")
    func more() async throws {
        let decoder = PreviewDecoder(.needsMore)
        let receipt = loader(decoder).load(url, previews: true)
        for count in 1...4 {
            await server.send(2)
            await poll { decoder.sizes.count == count }
        }
        await server.send(2)
        #expect(try await receipt.image.size.width == 1)
    }

    @Test("A decoding that takes long delays neither the file nor the image, and its preview is not shown after it")
    func slowDecoder() async throws {
        let gate = DispatchSemaphore(value: 0)
        let decoder = PreviewDecoder(gate: gate)
        let receipt = loader(decoder).load(url, previews: true)
        let previews = receipt.previews
        await server.send(2)
        await poll { decoder.sizes.count == 1 }
        await server.send(8)
        #expect(try await receipt.image.size.width == 1)
        gate.signal()
        await poll { decoder.running == 0 }
        #expect(receipt.latestPreview == nil)
        for await _ in previews { Issue.record("a preview was shown after the image") }
        #expect(decoder.sizes.count == 1)
    }

    @Test("After the last receipt is cancelled no preview is decoded, and its previews end")
    func cancelled() async throws {
        let decoder = PreviewDecoder()
        let loader = loader(decoder)
        let receipts = (0..<2).map { _ in loader.load(url, previews: true) }
        var readers = receipts.map { $0.previews.makeAsyncIterator() }
        await server.send(2)
        for index in readers.indices { #expect(await readers[index].next()?.size.width == 20) }
        receipts[0].cancel()
        #expect(await readers[0].next() == nil)
        #expect(await code { _ = try await receipts[0].image } == .cancelled)
        await server.send(2)
        #expect(await readers[1].next()?.size.width == 40)
        receipts[1].cancel()
        #expect(await readers[1].next() == nil)
        await poll { loader.activeCount == 0 }
        #expect(decoder.sizes.count == 2)
    }

    @Test("Previews that are decoded after their receipts have left are at most as many as images may be active")
    func abandoned() async throws {
        let gate = DispatchSemaphore(value: 0)
        let decoder = PreviewDecoder(gate: gate)
        let loader = ImageLoader(
            session: server.session(), cache: nil, decoder: decoder,
            options: ImageLoader.Options { $0.maximumActive = 1 })
        for number in 0..<5 {
            let receipt = loader.load("http://h.example/\(number)", previews: true)
            await server.send(4)
            await poll { loader.activePreviews == 1 }
            receipt.cancel()
            await poll { loader.activeCount == 0 }
        }
        #expect(decoder.sizes.count == 1)
        gate.signal()
        await poll { loader.activePreviews == 0 }
        #expect(decoder.most == 1)
    }

    @Test("A file in the HTTP cache is stored with previews, and has none itself")
    func stored() async throws {
        let decoder = PreviewDecoder()
        let session = server.session(headers: ["Cache-Control": "max-age=1000"], cache: .inMemory())
        let first = loader(decoder, session).load(url, previews: true)
        var reader = first.previews.makeAsyncIterator()
        await server.send(2)
        #expect(await reader.next()?.size.width == 20)
        await server.send(8)
        #expect(try await first.image.size.width == 1)
        let other = PreviewDecoder()
        let loader = loader(other, session)
        let second = loader.load(url, previews: true)
        for await _ in second.previews { Issue.record("a preview of a stored file") }
        #expect(try await second.image.size.width == 1)
        #expect(loader.statistics.diskHits == 1)
        #expect(other.sizes.isEmpty)
        #expect(server.sent.value == 1)
    }

    @Test("A target shows previews if its view asks for them, and then the image")
    @MainActor
    func target() async {
        let decoder = PreviewDecoder()
        let loader = loader(decoder)
        let target = ImageTarget()
        var shown: [String] = []
        func show(_ update: ImageTarget.Update) {
            switch update {
            case .placeholder: shown.append("placeholder")
            case .preview(let image): shown.append("preview \(image.size.width)")
            case .image(let image, _): shown.append("image \(image.size.width)")
            case .failure(let error): shown.append("\(error.code)")
            }
        }
        target.load(url, previews: true, from: loader, update: show)
        await server.send(2)
        await poll { shown.count == 2 }
        // The same image again shows the latest preview, unless the view wants none any more.
        target.load(url, previews: true, from: loader, update: show)
        target.load(url, from: loader, update: show)
        await server.send(2)
        await poll { decoder.sizes.count == 2 }
        target.load(url, previews: true, from: loader, update: show)
        await server.send(6)
        await poll { shown.last == "image 1" }
        #expect(shown.prefix(4) == ["placeholder", "preview 20", "preview 20", "placeholder"])
        #expect(shown.dropFirst(4).dropLast().allSatisfy { $0.hasPrefix("preview") || $0 == "placeholder" })
        #expect(loader.statistics.exchanges == 1)
    }
}
