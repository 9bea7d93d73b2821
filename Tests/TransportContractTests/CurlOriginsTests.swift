#if os(Linux)
    import Larkspur
    import Testing

    @testable import LarkspurCurl

    @Suite("Limits of requests to an origin")
    struct CurlOriginsTests {
        private let transport = CurlTransport()

        private func task(
            _ url: String = "https://a.test/", _ priority: RequestPriority = .normal,
            version: HTTPVersionChoice = .negotiated
        ) throws -> CurlTask {
            var request = TransportRequest(url: try RequestURL(url))
            (request.priority, request.version) = (priority, version)
            return CurlTask(
                id: TransportTaskID(1), request: request, delegate: RecordingDelegate(), transport: transport)
        }

        /// The limits in a reference, because macros cannot call mutating functions.
        private final class Limits {
            private var origins: CurlOrigins

            init(_ limit: Int, loops: Int) { origins = CurlOrigins(limit: limit, loops: loops) }

            var running: [Int] { origins.running }

            func admit(_ task: CurlTask, _ need: CurlOrigins.Need) -> CurlOrigins.Admission {
                origins.admit(task, need)
            }
            func leave(_ place: CurlOrigins.Place) -> CurlOrigins.Start? { origins.leave(place) }
            func withdraw(_ wait: CurlOrigins.Wait) -> CurlTask? { origins.withdraw(wait) }
            func multiplex() -> [CurlOrigins.Start] { origins.multiplex(0) }
            func gather() -> [CurlOrigins.Start] { origins.gather(0) }
            func spread() -> [CurlOrigins.Start] { origins.spread(0) }
            func giveUp(_ loop: Int) -> [CurlOrigins.Start] { origins.giveUp(loop) }
            func countUpgraded(_ change: Int, in loop: Int) { origins.countUpgraded(change, in: loop) }
            func close() -> [CurlTask] { origins.close() }
        }

        private func place(_ admission: CurlOrigins.Admission) -> CurlOrigins.Place? {
            if case .starts(let place) = admission { place } else { nil }
        }

        private func loops(_ origins: Limits, _ count: Int, _ need: CurlOrigins.Need) throws -> [Int?] {
            try (0..<count).map { _ in place(origins.admit(try task(), need))?.loop }
        }

        @Test("Until the version of HTTP is known, shareable requests stay within the share of one loop")
        func unknownVersion() throws {
            let origins = Limits(5, loops: 2)
            #expect(try loops(origins, 4, .shareable) == [0, 0, 0, nil])
            let starts = origins.spread()
            #expect(starts.map(\.place.loop) == [1])
            #expect(try loops(origins, 2, .shareable) == [1, nil])
            #expect(origins.running == [3, 2])
        }

        @Test("With HTTP/2, all shareable requests stay in one loop, up to the number of streams")
        func http2() throws {
            let origins = Limits(2, loops: 2)
            #expect(try loops(origins, 3, .shareable) == [0, nil, nil])
            #expect(origins.multiplex().map(\.place.loop) == [0, 0])
            #expect(try loops(origins, 98, .shareable) == Array(repeating: 0, count: 97) + [nil])
            #expect(origins.running == [100, 0])
            #expect(origins.multiplex().isEmpty)
        }

        @Test("With HTTP/3, all shareable requests stay in one loop, up to the limit of connections")
        func http3() throws {
            let origins = Limits(5, loops: 2)
            #expect(try loops(origins, 5, .shareable) == [0, 0, 0, nil, nil])
            #expect(origins.gather().map(\.place.loop) == [0, 0])
            #expect(try loops(origins, 1, .shareable) == [nil])
            #expect(origins.running == [5, 0])
            // The server was reached over TCP, which it speaks HTTP/2 over.
            #expect(origins.multiplex().map(\.place.loop) == [0])
            #expect(origins.gather().isEmpty)
        }

        @Test("An origin whose HTTP/3 is out of reach and that speaks HTTP/1 over TCP is spread over the loops")
        func http3Lost() throws {
            let origins = Limits(4, loops: 2)
            #expect(try loops(origins, 1, .shareable) == [0])
            #expect(origins.gather().isEmpty)
            #expect(try loops(origins, 2, .shareable) == [0, 0])
            #expect(origins.spread().isEmpty)
            #expect(try loops(origins, 2, .shareable) == [1, nil])
        }

        @Test(
            "Requests with connections of their own keep to the limit of connections beside HTTP/2", arguments: [1, 2])
        func exclusiveLimit(count: Int) throws {
            let origins = Limits(2, loops: count)
            _ = origins.admit(try task(), .shareable)
            _ = origins.multiplex()
            let places = try (0..<2).map { _ in try #require(place(origins.admit(try task(), .exclusive))) }
            #expect(try loops(origins, 1, .exclusive) == [nil])
            #expect(try loops(origins, 1, .shareable) == [0])
            #expect(origins.leave(places[0])?.place.isExclusive == true)
            #expect(try loops(origins, 1, .exclusive) == [nil])
        }

        @Test("An exclusive request starts beside HTTP/2 in another loop, when the total allows it")
        func exclusiveBesideHTTP2() throws {
            let origins = Limits(2, loops: 2)
            let first = try #require(place(origins.admit(try task(), .shareable)))
            _ = origins.multiplex()
            _ = try loops(origins, 99, .shareable)
            #expect(try loops(origins, 1, .exclusive) == [nil])
            let next = try #require(origins.leave(first))
            #expect(next.place.loop == 1)
        }

        @Test("Waiting tasks start in the order of their arrival, each once, unless they were withdrawn")
        func order() throws {
            let origins = Limits(1, loops: 1)
            var last = try #require(place(origins.admit(try task(), .exclusive)))
            var waiting: [(task: CurlTask, wait: CurlOrigins.Wait)] = []
            for _ in 0..<100 {
                let task = try task()
                guard case .waits(let wait) = origins.admit(task, .exclusive) else { continue }
                waiting.append((task, wait))
            }
            #expect(waiting.count == 100)
            let withdrawn = waiting.enumerated().filter { $0.offset % 3 != 1 }.map(\.element)
            for (task, wait) in withdrawn.reversed() {
                #expect(origins.withdraw(wait) === task)
                #expect(origins.withdraw(wait) == nil)
            }
            for (offset, (task, wait)) in waiting.enumerated() where offset % 3 == 1 {
                let next = try #require(origins.leave(last))
                #expect(next.task === task)
                #expect(origins.withdraw(wait) == nil)
                last = next.place
            }
            #expect(origins.leave(last) == nil)
        }

        @Test("A request of a lower priority starts after some of higher ones, also if it needs another connection")
        func lowerPriority() throws {
            for needs in [(CurlOrigins.Need.shareable, CurlOrigins.Need.exclusive), (.exclusive, .shareable)] {
                let origins = Limits(1, loops: 2)
                var place = try #require(place(origins.admit(try task(), needs.0)))
                _ = origins.spread()
                let low = try task()
                _ = origins.admit(low, needs.1)
                var started: [CurlTask] = []
                for _ in 0..<20 {
                    _ = origins.admit(try task("https://a.test/", .high), needs.0)
                    let start = try #require(origins.leave(place))
                    started.append(start.task)
                    place = start.place
                }
                #expect(started.firstIndex { $0 === low } == RequestPriority.patience)
            }
        }

        @Test("Each new origin has another loop as its home, and busy loops share their requests")
        func homes() throws {
            let origins = Limits(64, loops: 3)
            for (number, home) in [0, 1, 2, 0].enumerated() {
                let task = try task("http://\(number).test/")
                #expect(place(origins.admit(task, .exclusive))?.loop == home)
            }
            let more = try loops(origins, 60, .exclusive)
            #expect(!more.contains(nil))
            let running = origins.running
            #expect(running.reduce(0, +) == 64)
            #expect((running.max() ?? 0) - (running.min() ?? 0) <= CurlOrigins.unevenness)
        }

        @Test("Upgraded connections go to the loop with the fewest of them")
        func upgraded() throws {
            let origins = Limits(64, loops: 3)
            for round in 0..<9 {
                let place = try #require(place(origins.admit(try task(), .upgraded)))
                #expect(place.loop == round % 3)
                origins.countUpgraded(1, in: place.loop)
                #expect(origins.leave(place) == nil)
            }
        }

        @Test("A loop that cannot be started gets no requests; the first loop gets its share")
        func unusableLoop() throws {
            let origins = Limits(4, loops: 2)
            #expect(try loops(origins, 3, .shareable) == [0, 0, nil])
            _ = origins.spread()
            #expect(origins.running == [2, 1])
            let failed = CurlOrigins.Place(origin: 0, loop: 1)
            #expect(origins.giveUp(1).isEmpty)
            #expect(origins.leave(failed) == nil)
            #expect(try loops(origins, 3, .exclusive) == [0, 0, nil])
            #expect(origins.running == [4, 0])
            #expect(place(origins.admit(try task("http://b.test/"), .exclusive))?.loop == 0)
            #expect(place(origins.admit(try task("http://c.test/"), .exclusive))?.loop == 0)
        }

        @Test("After the end no task is admitted, and all waiting tasks are returned")
        func closing() throws {
            let origins = Limits(1, loops: 2)
            let first = try #require(place(origins.admit(try task(), .exclusive)))
            let waiting = try (0..<3).map { _ in try task() }
            for (task, need) in zip(waiting, [.exclusive, .shareable, .exclusive] as [CurlOrigins.Need]) {
                _ = origins.admit(task, need)
            }
            #expect(Set(origins.close().map(ObjectIdentifier.init)) == Set(waiting.map(ObjectIdentifier.init)))
            #expect(origins.leave(first) == nil)
            guard case .refused = origins.admit(try task(), .exclusive) else {
                Issue.record("a task was admitted after the end")
                return
            }
        }

        @Test(
            "Requests to an origin mix versions if they ask for several",
            arguments: [
                ("https", [HTTPVersionChoice.negotiated, .http3], false), ("https", [.http1, .negotiated], true),
                ("https", [.http1, .http1], false), ("http", [.http1, .negotiated], false),
                ("http", [.http1, .http2], true),
                ("http", [.http2, .http2], false), ("http", [.http2, .negotiated], true),
            ])
        func versions(scheme: String, versions: [HTTPVersionChoice], isMixed: Bool) throws {
            let origins = Limits(5, loops: 1)
            for (number, version) in versions.enumerated() {
                let start = try #require(
                    place(origins.admit(try task("\(scheme)://a.test/", version: version), .exclusive)))
                #expect(start.mixesVersions == (isMixed && number > 0))
            }
        }

        @Test("A removed origin counts as an origin whose requests mix versions")
        func forgottenVersions() throws {
            let origins = Limits(5, loops: 1)
            for number in 0..<300 {
                let admission = origins.admit(try task("http://h\(number).test/"), .exclusive)
                _ = origins.leave(try #require(place(admission)))
            }
            let start = try #require(place(origins.admit(try task("http://h0.test/"), .exclusive)))
            #expect(start.mixesVersions)
        }
    }
#endif
