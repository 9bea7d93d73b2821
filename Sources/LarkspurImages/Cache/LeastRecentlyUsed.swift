/// Images in the order of their last use: a dictionary of indices, and a list of nodes in an array.
struct LeastRecentlyUsed {
    private struct Node {
        var key: ImageKey
        var image: DecodedImage?
        /// Towards more recent use; for a free node unused. -1 means none.
        var newer = -1
        /// Towards earlier use; for a free node the next free one. -1 means none.
        var older = -1
    }

    private var indices: [ImageKey: Int] = [:]
    private var nodes: [Node] = []
    private var newest = -1
    private var oldest = -1
    private var firstFree = -1
    private(set) var cost = 0
    private(set) var statistics = AutoPurgingImageCache.Statistics()

    var count: Int { indices.count }
    var keys: [ImageKey] { Array(indices.keys) }

    /// Returns an image, which becomes the most recently used one.
    mutating func use(_ key: ImageKey) -> DecodedImage? {
        guard let index = indices[key] else {
            statistics.misses += 1
            return nil
        }
        statistics.hits += 1
        if index != newest {
            unlink(index)
            link(index)
        }
        return nodes[index].image
    }

    /// Stores an image, and returns the replaced image.
    mutating func insert(_ image: DecodedImage, for key: ImageKey) -> DecodedImage? {
        let replaced = remove(key)
        let node = Node(key: key, image: image)
        var index = nodes.count
        if firstFree >= 0 {
            index = firstFree
            firstFree = nodes[index].older
            nodes[index] = node
        } else {
            nodes.append(node)
        }
        link(index)
        indices[key] = index
        cost += image.cost
        return replaced
    }

    mutating func remove(_ key: ImageKey) -> DecodedImage? {
        guard let index = indices.removeValue(forKey: key) else { return nil }
        unlink(index)
        let image = nodes[index].image
        nodes[index].image = nil
        nodes[index].older = firstFree
        firstFree = index
        cost -= image?.cost ?? 0
        return image
    }

    /// Removes the images that were not used for the longest time, until the cost is at most `limit`.
    mutating func purge(to limit: Int) -> [DecodedImage] {
        var removed: [DecodedImage] = []
        while cost > limit, oldest >= 0, let image = remove(nodes[oldest].key) { removed.append(image) }
        statistics.purged += removed.count
        return removed
    }

    /// Removes all images. The numbers about the use remain.
    mutating func removeAll(isPurge: Bool = true) -> [DecodedImage] {
        let images = nodes.compactMap(\.image)
        var numbers = statistics
        if isPurge { numbers.purged += images.count }
        self = LeastRecentlyUsed()
        statistics = numbers
        return images
    }

    private mutating func link(_ index: Int) {
        nodes[index].newer = -1
        nodes[index].older = newest
        if newest >= 0 { nodes[newest].newer = index } else { oldest = index }
        newest = index
    }

    private mutating func unlink(_ index: Int) {
        let (newer, older) = (nodes[index].newer, nodes[index].older)
        if newer >= 0 { nodes[newer].older = older } else { newest = older }
        if older >= 0 { nodes[older].newer = newer } else { oldest = newer }
    }
}
