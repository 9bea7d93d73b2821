import Larkspur
import LarkspurAnnex
import TestSupport
import Testing

@testable import LarkspurImages

@Suite("The cache of decoded images", .limited)
struct AutoPurgingImageCacheTests {
    private func key(_ number: Int) throws -> ImageKey { try ImageKey("http://h.example/\(number)") }

    @Test("Beyond its capacity the cache removes the images that were not used for the longest time")
    func order() throws {
        let cache = AutoPurgingImageCache(capacity: 2_000, preferredSize: 1_200, pressure: nil)
        for number in 0..<5 { cache.insert(.plain(), for: try key(number)) }
        #expect(cache.cost == 2_000)
        #expect(cache.image(for: try key(0)) != nil)
        cache.insert(.plain(), for: try key(5))
        #expect(cache.cost == 1_200)
        let remaining = try (0..<6).filter { cache.image(for: try key($0)) != nil }
        #expect(remaining == [0, 4, 5])
        #expect(cache.statistics.purged == 3)
    }

    @Test("An image in place of another has the cost of one")
    func replacing() throws {
        let cache = AutoPurgingImageCache(pressure: nil)
        cache.insert(.plain(), for: try key(1))
        cache.insert(.plain(width: 20), for: try key(1))
        #expect(cache.cost == 800)
        #expect(cache.count == 1)
        cache.removeImage(for: try key(1))
        #expect(cache.cost == 0)
    }

    @Test("An image larger than the cache is not stored, and removes no other")
    func tooLarge() throws {
        let cache = AutoPurgingImageCache(capacity: 500, preferredSize: 100, pressure: nil)
        cache.insert(.plain(), for: try key(1))
        cache.insert(.plain(width: 100), for: try key(2))
        #expect(cache.image(for: try key(1)) != nil)
        #expect(cache.image(for: try key(2)) == nil)
    }

    @Test("Thumbnails of a URL are images of their own")
    func thumbnails() throws {
        let cache = AutoPurgingImageCache(pressure: nil)
        let url = try "http://h.example".asRequestURL()
        cache.insert(.plain(), for: ImageKey(url: url, thumbnail: PixelSize(width: 1, height: 1)))
        #expect(cache.image(for: ImageKey(url: url)) == nil)
    }

    @Test("Memory pressure removes all images, and ends with the cache")
    func pressure() throws {
        let report = Guarded<(@Sendable () -> Void)?>(nil)
        let ends = Counter()
        let source = MemoryPressure { notice in
            report.withLock { $0 = notice }
            return MemoryPressure.Subscription { ends.increment() }
        }
        do {
            let cache = AutoPurgingImageCache(pressure: source)
            cache.insert(.plain(), for: try key(1))
            report.withLock { $0 }?()
            #expect(cache.count == 0)
            #expect(cache.statistics.purged == 1)
            #expect(ends.value == 0)
        }
        #expect(ends.value == 1)
    }

    @Test("The cache agrees with a list at each step", arguments: 0..<10)
    func model(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var state = LeastRecentlyUsed()
        var model: [(key: ImageKey, cost: Int)] = []  // the most recently used first
        for _ in 0..<2_000 {
            let key = try key(.random(in: 0..<20, using: &random))
            let position = model.firstIndex { $0.key == key }
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4:
                #expect((state.use(key) != nil) == (position != nil))
                if let position { model.insert(model.remove(at: position), at: 0) }
            case 4..<8:
                let image = DecodedImage.plain(width: .random(in: 1...9, using: &random))
                _ = state.insert(image, for: key)
                if let position { model.remove(at: position) }
                model.insert((key, image.cost), at: 0)
            case 8:
                _ = state.remove(key)
                if let position { model.remove(at: position) }
            default:
                let limit = Int.random(in: 0...2_000, using: &random)
                _ = state.purge(to: limit)
                while model.reduce(0, { $0 + $1.cost }) > limit { model.removeLast() }
            }
            #expect(state.cost == model.reduce(0) { $0 + $1.cost })
            #expect(state.count == model.count)
        }
    }

    @Test("All images of a URL are removed, in each size")
    func removal() throws {
        let cache = AutoPurgingImageCache(pressure: nil)
        let (first, second) = (try ImageKey("http://h/a"), try ImageKey("http://h/b"))
        let thumbnail = ImageKey(url: first.url, thumbnail: PixelSize(width: 3, height: 3))
        for key in [first, second, thumbnail] { cache.insert(.plain(), for: key) }
        cache.removeImages(of: first.url)
        #expect([first, second, thumbnail].map { cache.image(for: $0) != nil } == [false, true, false])
    }

    @Test("The control group of the process is found in the file of the kernel, and in a container at the root")
    func controlGroup() {
        func folder(_ text: String, _ files: [String]) -> String? {
            ControlGroup(text) { files.contains($0) }?.path("x")
        }
        let (root, group) = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/a/b/memory.events")
        #expect(folder("0::/a/b\n", [root, group]) == "/sys/fs/cgroup/a/b/x")
        #expect(folder("0::/a/b\n", [root]) == "/sys/fs/cgroup/x")
        #expect(folder("12:cpu:/x\n0::/\n", [root]) == "/sys/fs/cgroup/x")
        #expect(folder("0::/../a/b\n", [root, group]) == "/sys/fs/cgroup/x")
        #expect(folder("0::/a/b\n", []) == nil)
        #expect(folder("4:memory:/a\n", [root]) == nil)
    }

    @Test(
        "A group whose limit is full of cached files is not full",
        arguments: [
            ("950\n", "1000\n", "max\n", "inactive_file 100\nactive_file 9\n", false),
            ("990\n", "1000\n", "max\n", "anon 5\ninactive_file 90\n", true),
            ("990\n", "1000\n", "500\n", "inactive_file 100\n", true),
            ("990\n", "max\n", "max\n", "", true),
            ("", "", "", "", true),
        ])
    func fullGroup(_ current: String, _ maximum: String, _ high: String, _ stat: String, _ isFull: Bool) throws {
        let files = [
            "memory.current": current, "memory.max": maximum, "memory.high": high, "memory.stat": stat,
        ]
        let group = try #require(ControlGroup("0::/\n") { _ in true })
        #expect(group.isFull { files[$0] ?? "" } == isFull)
    }
}
