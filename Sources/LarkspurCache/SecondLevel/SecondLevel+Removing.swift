extension SecondLevel {
    /// Removes the responses of a URL, or of all URLs, by a new generation. Until the level has it, this process does
    /// not use the level for these URLs.
    func remove(_ url: String?) {
        let url = box.withLock { $0.removals.add(url) }
        later { [self] in _ = await finishRemoval(of: url) }
    }

    /// Returns whether all removals of the URL are in the level.
    func finishRemovals(of url: String) async -> Bool {
        for removal in box.withLock({ $0.removals.concerning(url) }) {
            guard await finishRemoval(of: removal) else { return false }
        }
        return true
    }

    /// Returns whether all removals are in the level.
    func finishRemovals() async -> Bool {
        var areDone = true
        for removal in box.withLock({ $0.removals.all }) where !(await finishRemoval(of: removal)) { areDone = false }
        return areDone
    }

    private func finishRemoval(of url: String?) async -> Bool {
        guard let number = box.withLock({ $0.removals.number(of: url) }) else { return true }
        let name = url.map(SharedName.url) ?? SharedName.all
        let lifetime = SharedGenerations.lifetime(of: name, level)
        let isDone: Void? = await tried { [self] in
            try await level.set(Data(SharedGenerations.new()), for: name, lifetime: lifetime)
        }
        guard isDone != nil else {
            retryRemovals()
            return false
        }
        box.withLock { $0.removals.end(url, number) }
        return true
    }

    /// Tries the removals again, with growing pauses, until the level has them or the limit is reached.
    private func retryRemovals() {
        guard box.withLock({ $0.removals.beginRetrying() }) else { return }
        // An unstructured task, because no request waits for it. `finish()` does not wait for its pauses either.
        Task { [self] in
            while let pause = box.withLock({ $0.removals.nextPause() }) {
                try? await clock.sleep(for: pause)
                _ = await finishRemovals()
            }
        }
    }
}
