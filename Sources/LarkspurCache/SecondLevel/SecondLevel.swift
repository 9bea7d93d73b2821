/// The second level of a cache: looks for responses, stores them and removes them, without blocking a thread.
final class SecondLevel: Sendable {
    let level: any SharedCacheLevel
    /// The clock of the pauses between the tries of a removal.
    let clock: any Clock<Duration>
    private let rules: CacheRules
    private let now: @Sendable () -> Double
    let box = Protected(State())

    /// The maximum size of a response's head in bytes.
    private static let maximumHead = 64 << 10
    /// The time for which no process waits for a response that turned out not to be shared.
    private static let unsharedLifetime = Duration.seconds(10)

    /// The lookup that readers share.
    struct Lookup: Hashable {
        let key: CacheKey
        let takesTurn: Bool
    }

    struct State {
        /// The readers that wait for a lookup of another reader.
        var waiting: [Lookup: [any SecondLevelReader]] = [:]
        var removals = PendingRemovals()
        var hits = 0
        var failures = 0
        var problem: String?
        /// The problem that was reported last, until the level works again.
        var reported: String?
        /// The work that no request waits for.
        var work: [UInt64: Task<Void, Never>] = [:]
        var lastWork: UInt64 = 0
    }

    init(
        _ level: any SharedCacheLevel, _ rules: CacheRules, now: @escaping @Sendable () -> Double,
        clock: any Clock<Duration>
    ) {
        (self.level, self.rules, self.now, self.clock) = (level, rules, now, clock)
    }

    var maximumSize: Int { level.maximumSize }

    var counts: (hits: Int, failures: Int) { box.withLock { ($0.hits, $0.failures) } }

    /// Returns the problem of the level, each once.
    func takeProblem() -> String? { box.withLock { $0.problem.take() } }

    private func failed(_ error: any Error) {
        let text = "the second level of the cache has failed: \(error)"
        box.withLock { state in
            state.failures += 1
            guard state.reported == nil else { return }
            (state.problem, state.reported) = (text, text)
        }
    }

    /// Runs an operation of the level. Returns nil if it fails.
    func tried<Result>(_ operation: () async throws -> Result) async -> Result? {
        do {
            let result = try await operation()
            box.withLock { if $0.reported != nil { ($0.problem, $0.reported) = (nil, nil) } }
            return result
        } catch {
            failed(error)
            return nil
        }
    }

    // MARK: Work that no request waits for

    func later(_ operation: @escaping @Sendable () async -> Void) {
        box.withLock { state in
            state.lastWork += 1
            let number = state.lastWork
            state.work[number] = Task { [box] in
                await operation()
                // The task needs the lock, so it is in the list by now.
                box.withLock { _ = $0.work.removeValue(forKey: number) }
            }
        }
    }

    func end(_ turn: SharedCacheTurn?) {
        guard let turn else { return }
        later { await turn.end() }
    }

    /// Waits for the work that has begun, and for the work that follows from it. Tries removals that have failed once
    /// more at once, and if they fail again, once more after a pause.
    func finish() async {
        await finishWork()
        if await finishRemovals() { return }
        try? await clock.sleep(for: PendingRemovals.firstPause)
        _ = await finishRemovals()
    }

    private func finishWork() async {
        while case let work = box.withLock({ Array($0.work.values) }), !work.isEmpty {
            for task in work { await task.value }
        }
    }

    // MARK: Looking

    /// Looks for the response to the reader's request. Readers with the same key share one lookup, unless only some of
    /// them wait for other processes.
    func look(for reader: any SecondLevelReader) {
        let lookup = Lookup(key: reader.key, takesTurn: reader.takesTurn)
        let isFirst = box.withLock { state in
            state.waiting[lookup, default: []].append(reader)
            return state.waiting[lookup]?.count == 1
        }
        guard isFirst else { return }
        Task { [self] in
            let answer = await answer(for: reader)
            let readers = box.withLock { $0.waiting.removeValue(forKey: lookup) ?? [] }
            // The first reader that has not ended lists its exchange, which the others then join.
            var rest: SharedAnswer? = answer
            for reader in readers where reader.endLooking(with: rest) { rest = nil }
        }
    }

    private func answer(for reader: any SecondLevelReader) async -> SharedAnswer? {
        let mark = reader.mark
        guard await finishRemovals(of: reader.key.url), let first = await found(reader, mark) else { return nil }
        if first.isServed(reader, now()) || first.isUnshared { return served(first, reader, mark) }
        guard reader.takesTurn, !first.isAlwaysValidated(rules) else { return await asking(first, nil, reader, mark) }
        let turn = await tried { [self] in
            try await level.claim(first.name) { [self] in
                let found = try await find(reader)
                return found.isUnshared || found.isAlwaysValidated(rules) || found.isServed(reader, now())
            }
        }
        // Another process may have stored the response before this one took its turn.
        guard let second = await found(reader, mark) else { return nil }
        if second.isServed(reader, now()) {
            end(turn ?? nil)
            return served(second, reader, mark)
        }
        guard second.isAlwaysValidated(rules) else { return await asking(second, turn ?? nil, reader, mark) }
        end(turn ?? nil)
        return await asking(second, nil, reader, mark)
    }

    /// Returns the answer for a reader that asks the server.
    private func asking(
        _ found: SharedFound, _ turn: SharedCacheTurn?, _ reader: any SecondLevelReader, _ mark: UInt64
    ) async -> SharedAnswer {
        adopt(found, reader, mark)
        var found = found
        var isKnown = found.missing.isEmpty
        if !isKnown, reader.mayShare, let known = await tried({ [self, found] in try await completed(found, reader) }) {
            (found.generations, isKnown) = (known, true)
        }
        if !isKnown { end(turn) }
        return SharedAnswer(found, turn, isKnown: isKnown)
    }

    /// Stores the generations that the level does not have, before the request is sent, so that each later removal
    /// changes them. Returns the generations of the level: another process may have stored them meanwhile, and its
    /// responses are to stay.
    private func completed(_ found: SharedFound, _ reader: any SecondLevelReader) async throws -> SharedGenerations {
        func stored(_ known: [UInt8], _ name: String) async throws -> [UInt8] {
            guard let new = found.missing[name] else { return known }
            let lifetime = SharedGenerations.lifetime(of: name, level)
            let stored = try await level.value(for: name, orStoring: Data(new), lifetime: lifetime)
            if stored.count == SharedGenerations.size { return Array(stored) }
            try await level.set(Data(new), for: name, lifetime: lifetime)  // the stored one is damaged
            return new
        }
        return SharedGenerations(
            ofAll: try await stored(found.generations.ofAll, SharedName.all),
            ofURL: try await stored(found.generations.ofURL, SharedName.url(reader.key.url)))
    }

    private func served(_ found: SharedFound, _ reader: any SecondLevelReader, _ mark: UInt64) -> SharedAnswer {
        guard found.isServed(reader, now()), reader.isCurrent(since: mark) else {
            return SharedAnswer(found, nil, isKnown: true)
        }
        adopt(found, reader, mark)
        box.withLock { $0.hits += 1 }
        return SharedAnswer(found, nil, isServed: true, isKnown: true)
    }

    /// Stores the response in the first level.
    private func adopt(_ found: SharedFound, _ reader: any SecondLevelReader, _ mark: UInt64) {
        guard let response = found.response,
            let writer = reader.store.begin(response.head, length: response.body.count)
        else { return }
        guard reader.isCurrent(since: mark), let body = (response.body as? MemoryBody)?.data else {
            return writer.drop()
        }
        if !body.isEmpty { writer.append(body) }
        writer.commit(head: nil, body: nil)
    }

    private func found(_ reader: any SecondLevelReader, _ mark: UInt64) async -> SharedFound? {
        guard let found = await tried({ [self] in try await find(reader) }),
            reader.isCurrent(since: mark)
        else { return nil }
        return found
    }

    private func find(_ reader: any SecondLevelReader) async throws -> SharedFound {
        let key = reader.key
        let names = SharedName.responses(key)
        let values = try await level.values(for: [SharedName.all, SharedName.url(key.url)] + names)
        guard values.count == names.count + 2 else {
            throw TransportError(.connectionLost, "a level has lost values")
        }
        var missing: [String: [UInt8]] = [:]
        func generation(_ data: Data?, _ name: String) -> [UInt8] {
            if let data, data.count == SharedGenerations.size { return Array(data) }
            let new = SharedGenerations.new()
            missing[name] = new
            return new
        }
        let generations = SharedGenerations(
            ofAll: generation(values[0], SharedName.all), ofURL: generation(values[1], SharedName.url(key.url)))
        var found = SharedFound(names[0], generations, missing: missing)
        try await find(values[2], names[0], key.cookies == nil ? [] : [Selection.cookie], for: reader, &found)
        guard names.count > 1, found.response == nil, !found.isUnshared else { return found }
        // The value for everyone has no say about who asks for the response to these cookies.
        var common = SharedFound(names[1], found.generations)
        try await find(values[3], names[1], [], for: reader, &common)
        found.response = common.response
        return found
    }

    /// Looks for a response in the value of a name.
    ///
    /// - Parameter selecting: The names of the fields that select a response which has no list of its own.
    private func find(
        _ data: Data?, _ name: String, _ selecting: [String], for reader: any SecondLevelReader,
        _ found: inout SharedFound
    ) async throws {
        let (key, fields) = (reader.key, reader.request.fields)
        switch try await value(data, name, found.generations)?.content {
        case nil: break
        case .unshared: found.isUnshared = true
        case .response(let record, let body):
            found.response = Self.response(record, body, key, Selection(names: selecting, in: fields))
        case .varies(let variants):
            let selection = Selection(names: variants.fields, in: fields)
            found.name = SharedName.variant(key, selection)
            let data = try await level.values(for: [found.name]).first ?? nil
            switch try await value(data, found.name, found.generations)?.content {
            case .response(let record, let body) where variants.names.contains(found.name):
                found.response = Self.response(record, body, key, selection)
            case .unshared: found.isUnshared = true
            case .response, .varies, nil: break
            }
        }
        if found.response?.head.isSelected(by: fields) == false { found.response = nil }
    }

    /// Reads a value of the present generations. A damaged one is removed. A value that is larger than the limit stays
    /// there, because other processes may have another limit.
    private func value(_ data: Data?, _ name: String, _ generations: SharedGenerations) async throws -> SharedValue? {
        guard let data else { return nil }
        guard data.count - 2 * Self.maximumHead <= level.maximumSize else { return nil }
        guard let value = SharedValue(data, for: name) else {
            try await level.removeValue(for: name)
            return nil
        }
        return value.generations == generations ? value : nil
    }

    private static func response(
        _ record: DiskRecord, _ body: Data, _ key: CacheKey, _ selection: Selection
    ) -> StoredResponse? {
        guard record.url == key.url, record.partition == DiskName.partitionHash(key.partition),
            record.selection == DiskSelection(selection)
        else { return nil }
        return StoredResponse(head: record.stored(partition: key.partition, selection), body: MemoryBody(body))
    }

    // MARK: Storing

    /// Stores a response, and ends the turn afterwards. Without a body it is too large to be shared.
    func store(_ head: StoredHead, _ body: Data?, _ key: CacheKey, _ ticket: SharedTicket) {
        later { [self] in
            defer { end(ticket.turn) }
            guard let lifetime = lifetime(of: head), let body, body.count <= level.maximumSize,
                head.head.rawFields.count <= Self.maximumHead, SharedValue.canHold(head.selection),
                box.withLock({ $0.removals.concerning(head.url).isEmpty })
            else { return await setUnshared(key, ticket) }
            let record = DiskRecord(
                head, partition: DiskName.partitionHash(key.partition), count: UInt64(body.count))
            let value = SharedValue(.response(record, body: body), ticket.generations)
            _ = await tried { [self] in
                let primary = SharedName.response(key, head.selection)
                guard !head.selection.names.allSatisfy({ $0 == Selection.cookie && key.cookies != nil }) else {
                    return try await level.set(value.bytes(for: primary), for: primary, lifetime: lifetime)
                }
                let name = SharedName.variant(key, head.selection)
                try await level.set(value.bytes(for: name), for: name, lifetime: lifetime)
                try await list(name, head.selection.names, primary, ticket.generations)
            }
        }
    }

    /// Adds a response to the list under a name.
    ///
    /// If two processes do so at once, one of the two responses is not on the list, and is stored again later.
    private func list(
        _ name: String, _ fields: [String], _ primary: String, _ generations: SharedGenerations
    ) async throws {
        var (variants, dropped) = (SharedVariants(fields: fields), [String]())
        let data = try await level.values(for: [primary]).first ?? nil
        if case .varies(let old)? = try await value(data, primary, generations)?.content {
            if old.fields == fields { variants = old } else { dropped = old.names }
        }
        dropped += variants.add(name)
        let bytes = SharedValue(.varies(variants), generations).bytes(for: primary)
        try await level.set(bytes, for: primary, lifetime: level.maximumLifetime)
        for name in dropped { try await level.removeValue(for: name) }
    }

    /// Notes that the server's response is not shared, so that no process waits for it.
    func storeUnshared(_ key: CacheKey, _ ticket: SharedTicket) {
        later { [self] in
            await setUnshared(key, ticket)
            end(ticket.turn)
        }
    }

    private func setUnshared(_ key: CacheKey, _ ticket: SharedTicket) async {
        let value = SharedValue(.unshared, ticket.generations).bytes(for: ticket.name)
        _ = await tried { [self] in
            try await level.set(
                value, for: ticket.name, lifetime: min(Self.unsharedLifetime, level.maximumLifetime))
        }
    }

    /// Stores a response that the server has confirmed.
    func store(confirmed head: StoredHead, _ body: any StoredBody, _ key: CacheKey, _ ticket: SharedTicket) {
        later { [self] in
            var bytes = body.count <= UInt64(level.maximumSize) ? Data() : nil
            while let count = bytes?.count, count < body.count {
                let part = await withCheckedContinuation { done in
                    body.read(at: UInt64(count)) { done.resume(returning: try? $0.get()) }
                }
                if let part, !part.isEmpty { bytes?.append(part) } else { bytes = nil }
            }
            store(head, bytes, key, ticket)
        }
    }

    /// Removes the response to the requests with a key, because only the first level stores the newer response.
    func removeResponse(_ key: CacheKey) {
        later { [self] in
            _ = await tried { [self] in
                for name in SharedName.responses(key) { try await level.removeValue(for: name) }
            }
        }
    }

    /// Returns the time for which a response can be of use; nil for no time.
    private func lifetime(of head: StoredHead) -> Duration? {
        let windows = [
            head.control.staleWhileRevalidate ?? rules.staleWhileRevalidate,
            head.control.staleIfError ?? rules.staleIfError,
        ]
        let window = windows.compactMap { $0 }.max() ?? 0
        let seconds = rules.lifetime(of: head) - head.age(at: now()) + window
        guard seconds > 0 else { return nil }
        return min(.seconds(min(seconds, CacheControl.limit)), level.maximumLifetime)
    }
}
