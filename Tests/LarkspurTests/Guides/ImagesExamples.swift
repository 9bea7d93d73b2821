import Larkspur
import LarkspurImages
import LarkspurTesting
import TestSupport
import Testing

@Suite("The guide to images", .limited)
struct ImagesExamples {
    @Test("Images are loaded over a session")
    func loading() async throws {
        let temporary = try TemporaryFolder()
        let folder = temporary["cache"]
        func makeLoader() -> ImageLoader {
            let session = Session(
                configuration: SessionConfiguration {
                    $0.cache = .onDisk(
                        at: folder, limit: 150 << 20,
                        options: HTTPCache.Options {
                            $0.staleIfError = .seconds(30 * 86_400)
                        })
                })
            let loader = ImageLoader(
                session: session,
                options: ImageLoader.Options { $0.order = .lastInFirstOut })
            return loader
        }
        #expect(makeLoader().statistics.exchanges == 0)
        let transport = StubTransport { _ in .text("no image") }
        let loader = ImageLoader(session: Session(transport: transport), cache: nil)
        let (url, nextURLs) = ("http://h.example/a", ["http://h.example/b"])
        func load() async throws {
            let receipt = loader.load(
                url, thumbnail: PixelSize(width: 200, height: 200), priority: .high)
            let image = try await receipt.image
            receipt.cancel()
            let next = loader.prefetch(
                nextURLs, thumbnail: PixelSize(width: 200, height: 200))
            #expect(next.count == 1)
            #expect(image.size.width <= 200)
        }
        func loadAvatar(of user: String) async throws {
            let avatar = ImageSource(
                url, headers: ["X-User": user], identifier: user
            ) { $0.cachePolicy(.revalidate) }
            let image = try await loader.load(avatar).image
            #expect(image.size.width <= 200)
        }
        await #expect(throws: RequestError.self) { try await loadAvatar(of: "ada") }
        do {
            try await load()
            Issue.record("a text is not an image")
        } catch let error as RequestError {
            #expect(error.code == .invalidImage)
        }
    }

    @Test("A view of another framework shows its target's image")
    @MainActor
    func showing() async {
        @MainActor
        final class View {
            var shown: [String] = []
            func clear() { shown.append("empty") }
            func show(_ image: DecodedImage) { shown.append("image") }
            func show(_ error: RequestError) { shown.append("\(error.code)") }
        }
        let session = Session(transport: StubTransport { _ in .text("no image") })
        ImageLoader.shared = ImageLoader(session: session)
        let (view, url, loader) = (View(), "http://h.example/a", ImageLoader.shared)
        let target = ImageTarget()
        target.load(url, from: loader) { update in
            switch update {
            case .placeholder: view.clear()
            case .preview(let image), .image(let image, _): view.show(image)
            case .failure(let error): view.show(error)
            }
        }
        await poll { view.shown.last == "invalidImage" }
        // The failure of a load that ends before `load` returns is shown without a placeholder.
        #expect(view.shown.dropLast().allSatisfy { $0 == "empty" })
        let count = view.shown.count
        #expect(count <= 2 && !target.isLoading)
        func previews() async throws {
            let receipt = loader.load(url, previews: true)
            for await preview in receipt.previews { view.show(preview) }
            view.show(try await receipt.image)
        }
        await #expect(throws: RequestError.self) { try await previews() }
        #expect(view.shown.count == count)
    }

    #if os(Linux)
        @Test("An image that was stored is shown without a network")
        func offline() async throws {
            let temporary = try TemporaryFolder()
            let requests = Journal()
            let transport = StubTransport { _ in
                if requests.count() > 1 { return .failure(.connectionRefused) }
                return .response(
                    headers: ["Cache-Control": "max-age=0", "ETag": "\"1\"", "Transfer-Encoding": "chunked"],
                    chunks: [Data("note".utf8)])
            }
            let configuration = SessionConfiguration {
                $0.cache = .onDisk(
                    at: temporary["cache"], options: HTTPCache.Options { $0.staleIfError = .seconds(30 * 86_400) })
            }
            let loader = ImageLoader(
                session: Session(configuration: configuration, transport: transport), cache: nil, decoder: NoteDecoder()
            )
            #expect(try await loader.load("http://h.example/a").image.size.width == 4)
            #expect(try await loader.load("http://h.example/a").image.size.width == 4)
            #expect(loader.statistics.diskHits == 1)
        }

        @Test("A server makes thumbnails of many images")
        func thumbnails() async {
            let reports = Journal()
            @Sendable func store(_ image: DecodedImage, for url: String) {
                reports.note("\(url) \(image.size.width)")
            }
            @Sendable func report(_ error: any Error, for url: String) {
                reports.note("\(url) fails")
            }
            let session = Session(transport: StubTransport { $0.url.path == "/b" ? .text("x") : .text("note") })
            let (urls, size) = (["http://h/a", "http://h/b"], PixelSize(width: 2, height: 2))
            func all(_ makeLoader: () -> ImageLoader) async {
                let loader = makeLoader()
                await withTaskGroup(of: Void.self) { group in
                    for url in urls {
                        group.addTask {
                            do {
                                let receipt = loader.load(url, thumbnail: size)
                                try store(await receipt.image, for: url)
                            } catch {
                                report(error, for: url)
                            }
                        }
                    }
                }
            }
            func own() -> ImageLoader {
                let loader = ImageLoader(session: session, decoder: NoteDecoder())
                return loader
            }
            await all {
                let loader = ImageLoader(
                    session: session, cache: nil,
                    options: ImageLoader.Options { $0.maximumActive = 8 })
                return loader
            }
            #expect(reports.lines.sorted() == ["http://h/a fails", "http://h/b fails"])
            await all(own)
            #expect(reports.lines.dropFirst(2).sorted() == ["http://h/a 2", "http://h/b fails"])
        }

        @Test("A decoder has limits, and pixels are written as a PNG")
        func decoding() async throws {
            let white = PixelBuffer(size: PixelSize(width: 100, height: 50), color: (255, 255, 255, 255))
            // A machine without libpng cannot write the file.
            guard let data = try? white.png() else { return }
            let folder = try TemporaryFolder()
            let file = folder["sheet.png"]
            let decoder = SystemImageDecoder(
                limits: ImageLimits { $0.maximumPixels = 20_000_000 })
            let small = try decoder.decode(
                data, thumbnail: PixelSize(width: 64, height: 64))
            var sheet = PixelBuffer(
                size: PixelSize(width: 640, height: 160),
                color: (255, 255, 255, 255))
            sheet.draw(small.pixels, x: 8, y: 8)
            try sheet.png().write(to: file)
            #expect(try ImageHeader(try Data(contentsOf: file)).size == sheet.size)
            #expect(small.size == PixelSize(width: 64, height: 32))
        }
    #endif
}

/// A format of its own: the text "note", of four pixels.
private struct Note {
    let size = PixelSize(width: 4, height: 4)

    init?(_ data: Data) throws { if data != Data("note".utf8) { return nil } }

    func image(of size: PixelSize) -> DecodedImage {
        DecodedImage(PixelBuffer(size: size, color: (255, 255, 255, 255)))
    }
}

private struct NoteDecoder: ImageDecoding {
    let system = SystemImageDecoder()

    func decode(
        _ data: Data, thumbnail bounds: PixelSize?
    ) throws -> DecodedImage {
        guard let note = try Note(data) else {
            return try system.decode(data, thumbnail: bounds)
        }
        try system.limits.check(note.size)
        let size = bounds.map(note.size.fitting) ?? note.size
        return note.image(of: size)
    }

    func decodePreview(
        _ data: Data, thumbnail bounds: PixelSize?
    ) throws -> DecodedImage? {
        try system.decodePreview(data, thumbnail: bounds)
    }
}
