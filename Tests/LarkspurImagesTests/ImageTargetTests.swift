import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurImages

/// A view that shows one image, like the image view of a cell. The width tells which image it is.
@MainActor
private final class TestView {
    let target = ImageTarget()
    private(set) var shown: [String] = []

    func load(_ url: String?, from loader: ImageLoader) {
        target.load(url, from: loader) { [weak self] in self?.show($0) }
    }

    private func show(_ update: ImageTarget.Update) {
        switch update {
        case .placeholder: shown.append("placeholder")
        case .preview(let image): shown.append("preview \(image.size.width)")
        case .image(let image, let isImmediate): shown.append("\(image.size.width)\(isImmediate ? " at once" : "")")
        case .failure(let error): shown.append(error.code.rawValue)
        }
    }
}

/// An object that has a target and whose closures capture it strongly.
@MainActor
private final class Owner {
    let target = ImageTarget()
    var count = 0
}

@Suite("Images of views that are used again", .limited)
@MainActor
struct ImageTargetTests {
    private let decoder = StubDecoder()
    private let server = HeldServer()
    private let view = TestView()

    /// A loader of images whose width is the number in the path.
    private func loader(cache: AutoPurgingImageCache? = nil) -> ImageLoader {
        let session = server.session(baseURL: "http://h.example") { request in
            request.url.path == "/bad" ? .text("no", status: 500) : .text("i\(request.url.path.dropFirst())")
        }
        return ImageLoader(session: session, cache: cache, decoder: decoder)
    }

    @Test("The placeholder is shown first, then the image")
    func usual() async {
        view.load("5", from: loader())
        #expect(view.shown == ["placeholder"])
        #expect(view.target.isLoading)
        server.open()
        await poll { view.shown.count == 2 }
        #expect(view.shown == ["placeholder", "5"])
        #expect(!view.target.isLoading)
    }

    @Test("A load of another image cancels the request of the earlier one")
    func another() async {
        let loader = loader()
        view.load("1", from: loader)
        await poll { server.paths == ["/1"] }
        view.load("2", from: loader)
        server.open()
        await poll { view.shown.count == 3 }
        await poll { loader.activeCount == 0 }
        #expect(view.shown == ["placeholder", "placeholder", "2"])
        #expect(decoder.calls.value == 1)
    }

    @Test("A result that arrives with the next load is not shown")
    func late() async throws {
        let loader = loader()
        let other = loader.load("1")  // keeps the request alive
        view.load("1", from: loader)
        server.open()
        _ = try await other.image
        // The result of the first load was shown before, or waits for the main actor already.
        let count = view.shown.count
        view.load("2", from: loader)
        await poll { view.shown.last == "2" }
        #expect(Array(view.shown.dropFirst(count)) == ["placeholder", "2"])
    }

    @Test("The image that is in flight is not requested again, and the new closure receives it")
    func again() async {
        let loader = loader()
        var calls: [Int] = []
        for number in 1...3 {
            view.target.load("5", from: loader) { if case .image = $0 { calls.append(number) } }
        }
        server.open()
        await poll { !calls.isEmpty }
        #expect(calls == [3])
        #expect(loader.statistics.requested == 1)
    }

    @Test("The image that is shown is shown again at once, also without a cache")
    func shown() async {
        let loader = loader()
        server.open()
        view.load("5", from: loader)
        await poll { view.shown.last == "5" }
        view.load("5", from: loader)
        #expect(view.shown == ["placeholder", "5", "5 at once"])
        #expect(loader.statistics.requested == 1)
    }

    @Test("An image in the memory cache is shown without a placeholder")
    func memory() async throws {
        let loader = loader(cache: AutoPurgingImageCache(pressure: nil))
        server.open()
        _ = try await loader.load("5").image
        view.load("5", from: loader)
        #expect(view.shown == ["5 at once"])
    }

    @Test("What the closure has captured is released with the image or the failure", arguments: ["5", "bad"])
    func captures(_ url: String) async {
        let loader = loader()
        server.open()
        var owner: Owner? = Owner()
        weak let released = owner
        if let owner {
            owner.target.load(url, from: loader) { _ in owner.count += 1 }
            await poll { owner.count == 2 }
            // The image is shown again at once, a failed one is loaded again.
            owner.target.load(url, from: loader) { _ in owner.count += 1 }
            await poll { owner.count == (url == "bad" ? 4 : 3) }
        }
        owner = nil
        #expect(released == nil)
    }

    @Test("A view whose image fails shows the placeholder, not the image of an earlier use")
    func failedView() async {
        let loader = loader()
        server.open()
        var shown: [String] = []
        var results: [String] = []
        func run(_ url: String?) {
            let load = ViewLoad<String>(
                url: url, thumbnail: nil, priority: .normal, placeholder: "placeholder", previews: false,
                loader: loader, convert: { "\($0.size.width)" },
                completion: { results.append((try? $0.get()) ?? "failure") })
            load.run(view.target) { image, isTransition in
                shown.append((image ?? "none") + (isTransition ? " true" : " false"))
            }
        }
        run("5")
        await poll { results.count == 1 }
        run("5")
        run("bad")
        await poll { results.count == 3 }
        run("http://h example")
        #expect(results == ["5", "5", "failure", "failure"])
        #expect(
            shown == [
                "placeholder false", "5 true", "5 false", "placeholder false", "placeholder false", "placeholder false",
            ])
    }

    @Test("Without a URL the placeholder is shown and the request cancelled")
    func none() async {
        let loader = loader()
        view.load("5", from: loader)
        await poll { server.paths == ["/5"] }
        view.load(nil, from: loader)
        #expect(view.target.key == nil)
        server.open()
        await poll { loader.activeCount == 0 }
        #expect(view.shown == ["placeholder", "placeholder"])
        #expect(decoder.calls.value == 0)
    }

    @Test("A failure is shown, and a load of the same URL tries again")
    func failure() async {
        let loader = loader()
        server.open()
        view.load("bad", from: loader)
        await poll { view.shown.count == 2 }
        view.load("bad", from: loader)
        await poll { view.shown.count == 4 }
        view.load("http://h example", from: loader)
        #expect(
            view.shown == ["placeholder", "unacceptableStatus", "placeholder", "unacceptableStatus", "invalidURL"])
    }

    @Test("A cancelled target shows nothing more")
    func cancelled() async {
        let loader = loader()
        view.load("5", from: loader)
        view.target.cancel()
        server.open()
        await poll { loader.activeCount == 0 }
        #expect(view.shown == ["placeholder"])
    }

    @Test("A released view cancels its request")
    func released() async {
        let loader = loader()
        var view: TestView? = TestView()
        view?.load("5", from: loader)
        await poll { server.paths == ["/5"] }
        view = nil
        server.open()
        await poll { loader.activeCount == 0 }
        #expect(decoder.calls.value == 0)
    }

    @Test("Another loader or thumbnail is another load")
    func variants() async {
        let (first, second) = (loader(), loader())
        server.open()
        view.load("5", from: first)
        await poll { view.shown.last == "5" }
        view.load("5", from: second)
        await poll { view.shown.count == 4 }
        view.target.load("5", thumbnail: PixelSize(width: 3, height: 3), from: second) { _ in }
        await poll { !view.target.isLoading }
        #expect(view.shown == ["placeholder", "5", "placeholder", "5"])
        #expect(second.statistics.exchanges == 2)
    }

    @Test("1,000 cells that are used again at random show their last images, and no request of an earlier one stays")
    func scrolling() async {
        let loader = loader(cache: AutoPurgingImageCache(capacity: 4_000, pressure: nil))
        var random = SeededRandom(seed: 7)
        let cells = (0..<1_000).map { _ in TestView() }
        var wanted: [Int?] = Array(repeating: nil, count: cells.count)
        func reuse(_ count: Int) {
            for _ in 0..<count {
                let cell = Int.random(in: 0..<cells.count, using: &random)
                wanted[cell] = Int.random(in: 1...400, using: &random)
                cells[cell].load(wanted[cell].map { "\($0)" }, from: loader)
            }
        }
        // Nothing has arrived: the loader has the requests of the wanted images only.
        reuse(5_000)
        await poll { server.paths.count >= 4 }
        reuse(5_000)
        let inFlight = Set(zip(cells, wanted).filter { $0.0.target.isLoading }.map(\.1))
        #expect(inFlight == Set(wanted).subtracting([nil]))
        #expect(loader.waitingCount <= inFlight.count)
        #expect(loader.waitingCount + 4 >= inFlight.count)
        // Results arrive while cells are used again.
        server.open()
        for _ in 0..<50 {
            reuse(200)
            await Task.yield()
        }
        await poll { !cells.contains { $0.target.isLoading } }
        await poll { loader.activeCount == 0 }
        #expect(loader.waitingCount == 0)
        // A result is shown after the loader has it.
        await poll { !cells.contains { $0.shown.last == "placeholder" } }
        for (cell, number) in zip(cells, wanted) {
            let last = cell.shown.last?.replacingOccurrences(of: " at once", with: "")
            #expect(last == number.map { "\($0)" })
        }
    }
}
