import Larkspur
import LarkspurAnnex
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurImages

/// A decoder with errors of its own.
private struct ForeignDecoder: ImageDecoding {
    struct Failure: Error {}

    func decode(_ data: Data, thumbnail size: PixelSize?) throws -> DecodedImage { throw Failure() }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}

@Suite("Loading images", .limited)
struct ImageLoaderTests {
    private let decoder = StubDecoder()
    private let server = HeldServer()
    private let sent = Counter()

    private func loader(
        _ options: ImageLoader.Options = ImageLoader.Options(), cache: AutoPurgingImageCache? = nil,
        answering answer: @escaping @Sendable (TransportRequest) -> StubAnswer = { _ in .text("image") }
    ) -> ImageLoader {
        let session = server.session { [sent] request in
            sent.increment()
            return answer(request)
        }
        return ImageLoader(session: session, cache: cache, decoder: decoder, options: options)
    }

    @Test("Equal URLs share one request and one decoding, and each caller gets the image")
    func sharing() async throws {
        let loader = loader()
        let receipts = (0..<20).map { _ in loader.load("http://h.example/a") }
        server.open()
        for receipt in receipts { #expect(try await receipt.image.size.width == 1) }
        #expect(sent.value == 1)
        #expect(decoder.calls.value == 1)
    }

    @Test("Thumbnails of different sizes share one request, and each is decoded once")
    func variants() async throws {
        let loader = loader()
        let sizes = [3, 5, 3, 5, 5].map { PixelSize(width: $0, height: $0) }
        let receipts = sizes.map { loader.load("http://h.example/a", thumbnail: $0) }
        server.open()
        for (size, receipt) in zip(sizes, receipts) { #expect(try await receipt.image.size == size) }
        #expect(sent.value == 1)
        #expect(decoder.calls.value == 2)
    }

    @Test("Sources have header fields, closures and identifiers of their own; equal identifiers share one request")
    func sources() async throws {
        let requests = Guarded<[TransportRequest]>([])
        var options = ImageLoader.Options()
        options.configure = { $0.priority(.low) }
        let cache = AutoPurgingImageCache(pressure: nil)
        let loader = loader(options, cache: cache) { request in
            requests.withLock { $0.append(request) }
            return .text("image")
        }
        func source(_ user: String) -> ImageSource {
            ImageSource("http://h.example/a", headers: ["accept": "image/png, */*", "X-User": user], identifier: user) {
                $0.priority(.high)
            }
        }
        let receipts: [ImageReceipt] = [
            loader.load(source("ada")), loader.load(source("bob")), loader.load(source("ada")),
            loader.load("http://h.example/a"), loader.load(source("ada"), thumbnail: PixelSize(width: 3, height: 3)),
        ]
        server.open()
        for receipt in receipts { _ = try await receipt.image }
        let sent = requests.withLock { $0 }
        func value(_ name: String, of request: TransportRequest) -> String? {
            request.fields.first { $0.name.lowercased() == name }?.value
        }
        #expect(sent.map { value("x-user", of: $0) ?? "" }.sorted() == ["", "ada", "bob"])
        for request in sent {
            let isPlain = value("x-user", of: request) == nil
            #expect(value("accept", of: request) == (isPlain ? "image/*,*/*;q=0.8" : "image/png, */*"))
            #expect(request.priority == (isPlain ? .low : .high))
        }
        #expect(try loader.key(for: source("ada")).identifier == "ada")
        #expect(try cache.image(for: loader.key(for: source("ada"))) != nil)
        #expect(try cache.image(for: loader.key(for: source("eve"))) == nil)
        try loader.removeImages(of: "http://h.example/a")
        #expect(try cache.image(for: loader.key(for: source("ada"))) == nil)
    }

    @Test("10,000 callers of 100 URLs cause 100 requests and 100 decodings")
    func manyCallers() async throws {
        let loader = loader(cache: AutoPurgingImageCache(pressure: nil))
        server.open()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<10_000 {
                group.addTask { _ = try await loader.load("http://h.example/\(number % 100)").image }
            }
            try await group.waitForAll()
        }
        #expect(sent.value == 100)
        #expect(decoder.calls.value == 100)
        let numbers = loader.statistics
        #expect(numbers.requested == 10_000)
        #expect(numbers.exchanges == 100)
        #expect(numbers.decodings == 100)
    }

    @Test("A cancelled receipt fails alone")
    func cancelOne() async throws {
        let loader = loader()
        let (first, second) = (loader.load("http://h.example/a"), loader.load("http://h.example/a"))
        first.cancel()
        #expect(await code { _ = try await first.image } == .cancelled)
        server.open()
        #expect(try await second.image.size.width == 1)
        #expect(sent.value == 1)
    }

    @Test("The last receipt that is cancelled cancels the request")
    func cancelLast() async throws {
        let loader = loader()
        let receipts = (0..<3).map { _ in loader.load("http://h.example/a") }
        await poll { server.paths.count == 1 }
        for receipt in receipts { receipt.cancel() }
        server.open()
        await poll { loader.activeCount == 0 }
        #expect(decoder.calls.value == 0)
    }

    @Test("A cancelled task cancels its receipt")
    func cancelTask() async throws {
        let loader = loader()
        let receipt = loader.load("http://h.example/a")
        let task = Task { try await receipt.image }
        task.cancel()
        #expect(await code { _ = try await task.value } == .cancelled)
        server.open()
        await poll { loader.activeCount == 0 }
    }

    @Test("A cancelled task leaves the receipt to the other tasks that await it")
    func cancelAwaiter() async throws {
        let loader = loader()
        let receipt = loader.load("http://h.example/a")
        let tasks = (0..<2).map { _ in Task { try await receipt.image } }
        await poll { receipt.waitingCount == 2 }
        tasks[0].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[0].value }
        #expect(receipt.result == nil)
        server.open()
        #expect(try await tasks[1].value.size.width == 1)
    }

    @Test("A session whose requests do not start by themselves loads images, and `configure` may add handlers")
    func manualStart() async throws {
        let transport = StubTransport { [sent] request in
            sent.increment()
            return request.url.path == "/stall" ? StubAnswer([.stall]) : .text("image")
        }
        let session = Session(
            configuration: SessionConfiguration { $0.startsRequestsAutomatically = false }, transport: transport)
        let options = ImageLoader.Options { $0.configure = { $0.responseData { _ in } } }
        let loader = ImageLoader(session: session, cache: nil, decoder: decoder, options: options)
        #expect(try await loader.load("http://h.example/a").image.size.width == 1)
        let receipt = loader.load("http://h.example/stall")
        await poll { sent.value == 2 }
        receipt.cancel()
        await poll { loader.activeCount == 0 }
    }

    @Test("The memory cache is asked once for each load")
    func misses() async throws {
        let cache = AutoPurgingImageCache(pressure: nil)
        let loader = loader(cache: cache)
        server.open()
        for number in 0..<5 { _ = try await loader.load("http://h.example/\(number)").image }
        _ = try await loader.load("http://h.example/0").image
        #expect(cache.statistics.misses == 5)
        #expect(cache.statistics.hits == 1)
    }

    @Test("An image that may not be stored is not, and a removed one is requested again")
    func storing() async throws {
        let cache = AutoPurgingImageCache(pressure: nil)
        let loader = loader(cache: cache) { request in
            let headers: HTTPHeaders = request.url.path == "/a" ? ["Cache-Control": "max-age=5, No-Store"] : [:]
            return .response(headers: headers, chunks: [Data("image".utf8)])
        }
        server.open()
        for path in ["a", "b", "a", "b"] { _ = try await loader.load("http://h.example/\(path)").image }
        #expect(server.paths == ["/a", "/b", "/a"])
        #expect(cache.count == 1)
        try loader.removeImages(of: "http://h.example/b")
        _ = try await loader.load("http://h.example/b").image
        #expect(server.paths.last == "/b")
    }

    @Test("Bounds without a pixel fail before a request, and an error of another type is the underlying error")
    func refusals() async throws {
        let loader = loader()
        let bounds = PixelSize(width: 0, height: 5)
        #expect(loader.load("http://h.example/a", thumbnail: bounds).result?.failure?.code == .invalidRequest)
        #expect(loader.waitingCount + loader.activeCount == 0)
        let other = ImageLoader(session: server.session { _ in .text("x") }, cache: nil, decoder: ForeignDecoder())
        server.open()
        let error = await #expect(throws: RequestError.self) { try await other.load("http://h.example/a").image }
        #expect(error?.code == .invalidImage)
        #expect(error?.underlying is ForeignDecoder.Failure)
    }

    @Test("Prefetches leave a place to the images that are shown")
    func prefetchPlaces() async throws {
        let loader = loader(ImageLoader.Options { $0.maximumActive = 3 })
        var receipts = loader.prefetch((0..<4).map { "http://h.example/\($0)" })
        await poll { server.paths.count == 2 }
        #expect(loader.activeCount == 2)
        receipts.append(loader.load("http://h.example/shown"))
        await poll { server.paths.count == 3 }
        #expect(server.paths.last == "/shown")
        // A prefetch that becomes visible gives its place to another one.
        receipts.append(loader.load("http://h.example/0"))
        #expect(loader.activeCount == 3)
        server.open()
        for receipt in receipts { _ = try await receipt.image }
        await poll { loader.activeCount == 0 }
    }

    @Test("A URL that is loaded again after its last receipt has left is requested again")
    func again() async throws {
        let loader = loader()
        let first = loader.load("http://h.example/a")
        await poll { server.paths.count == 1 }
        first.cancel()
        let second = loader.load("http://h.example/a")
        server.open()
        #expect(try await second.image.size.width == 1)
        #expect(server.paths.count == 2)
    }

    @Test("At most as many requests as allowed are active")
    func limit() async throws {
        let loader = loader(ImageLoader.Options { $0.maximumActive = 2 })
        let receipts = (0..<9).map { loader.load("http://h.example/\($0)") }
        #expect(loader.activeCount == 2)
        #expect(loader.waitingCount == 7)
        await poll { server.paths.count == 2 }
        server.open()
        for receipt in receipts { _ = try await receipt.image }
        #expect(server.mostAtOnce == 2)
        await poll { loader.activeCount == 0 }
    }

    @Test(
        "Requests start in the order of the options", arguments: [ImageLoader.Order.firstInFirstOut, .lastInFirstOut])
    func order(_ order: ImageLoader.Order) async throws {
        let loader = loader(
            ImageLoader.Options {
                $0.maximumActive = 1
                $0.order = order
            })
        let receipts = (0..<5).map { loader.load("http://h.example/\($0)") }
        await poll { server.paths.count == 1 }
        server.open()
        for receipt in receipts { _ = try await receipt.image }
        let expected = order == .firstInFirstOut ? [0, 1, 2, 3, 4] : [0, 4, 3, 2, 1]
        #expect(server.paths == expected.map { "/\($0)" })
    }

    @Test("Higher priorities start first, and a later caller raises a waiting request")
    func priorities() async throws {
        let loader = loader(ImageLoader.Options { $0.maximumActive = 1 })
        var receipts = [loader.load("http://h.example/0")]
        receipts += loader.prefetch(["http://h.example/1", "http://h.example/2"])
        receipts.append(loader.load("http://h.example/3"))
        receipts.append(loader.load("http://h.example/2", priority: .high))
        await poll { server.paths.count == 1 }
        server.open()
        for receipt in receipts { _ = try await receipt.image }
        #expect(server.paths == ["/0", "/2", "/3", "/1"])
    }

    @Test("A prefetched image is in the cache, without another request")
    func prefetch() async throws {
        let loader = loader(cache: AutoPurgingImageCache(pressure: nil))
        server.open()
        for receipt in loader.prefetch(["http://h.example/a"]) { _ = try await receipt.image }
        let receipt = loader.load("http://h.example/a")
        #expect(try receipt.result?.get().size.width == 1)
        #expect(sent.value == 1)
        #expect(loader.statistics.memoryHits == 1)
        #expect(loader.statistics.requested == 1)
    }

    @Test("A relative URL is resolved against the base URL of the session, and shares the request of the absolute one")
    func relative() async throws {
        let session = server.session(baseURL: "http://h.example/photos") { [sent] _ in
            sent.increment()
            return .text("image")
        }
        let loader = ImageLoader(session: session, cache: nil, decoder: decoder)
        let receipts = [loader.load("a.png"), loader.load("http://h.example/photos/a.png")]
        #expect(try receipts[0].key == ImageKey("http://h.example/photos/a.png"))
        server.open()
        for receipt in receipts { _ = try await receipt.image }
        #expect(sent.value == 1)
        #expect(server.paths == ["/photos/a.png"])
    }

    @Test("A failure reaches each caller, and a later caller tries again")
    func failure() async throws {
        let loader = loader { $0.url.path == "/bad" ? .text("no", status: 500) : .text("x") }
        server.open()
        let receipts = (0..<3).map { _ in loader.load("http://h.example/bad") }
        for receipt in receipts { #expect(await code { _ = try await receipt.image } == .unacceptableStatus) }
        #expect(await code { _ = try await loader.load("http://h.example/bad").image } == .unacceptableStatus)
        #expect(await code { _ = try await loader.load("http://h.example/x").image } == .invalidImage)
        #expect(await code { _ = try await loader.load("http://h example/").image } == .invalidURL)
        await poll { loader.activeCount == 0 }
    }

    @Test("A file larger than the limit fails")
    func fileSize() async throws {
        let loader = loader(ImageLoader.Options { $0.maximumFileSize = 3 })
        server.open()
        #expect(await code { _ = try await loader.load("http://h.example/a").image } == .contentTooLarge)
    }

    @Test("1,000 reused cells leave no request behind", arguments: 0..<3)
    func cells(_ seed: UInt64) async throws {
        let loader = loader(ImageLoader.Options { $0.order = .lastInFirstOut })
        var random = SeededRandom(seed: seed)
        var visible: [Int: ImageReceipt] = [:]
        for _ in 0..<1_000 {
            let cell = Int.random(in: 0..<12, using: &random)
            visible[cell]?.cancel()
            visible[cell] = loader.load("http://h.example/\(Int.random(in: 0..<300, using: &random))")
        }
        let urls = Set(visible.values.compactMap { $0.key?.url })
        #expect(loader.waitingCount <= urls.count)
        server.open()
        for receipt in visible.values { _ = try await receipt.image }
        await poll { loader.activeCount == 0 }
        #expect(loader.waitingCount == 0)
        #expect(decoder.calls.value <= urls.count)
    }
}
