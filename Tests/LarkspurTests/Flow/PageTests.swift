import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore
@testable import LarkspurFlow

@Suite("Pages", .limited)
struct PageTests {
    private struct Page: Decodable, Sendable {
        let items: [Int]
        let next: String?
    }

    private let log = TransportLog()
    private var paths: [String] { log.requests.map { $0.url.text.replacing("http://h", with: "") } }

    private func session(
        _ configuration: SessionConfiguration = .bare, interceptor: (any RequestInterceptor)? = nil,
        _ answer: @escaping @Sendable (TransportRequest) -> StubAnswer
    ) -> Session {
        log.session(configuration, interceptor: interceptor) { request, _ in answer(request) }
    }

    private static func page(_ json: String, link: String? = nil) -> StubAnswer {
        .response(headers: link.map { ["Link": $0] } ?? [:], chunks: [Data(json.utf8)])
    }

    private func all<Value>(_ pages: PageSequence<Value>) async throws -> [Value] {
        try await pages.reduce(into: []) { $0.append($1) }
    }

    // MARK: Ways from page to page

    @Test("The Link field leads from page to page, relative to each page's URL", arguments: [false, true])
    func linkHeader(ahead: Bool) async throws {
        let session = session { request in
            switch request.url.text {
            case "http://h/list": Self.page("[1]", link: #"</list?page=2>; rel="prev next""#)
            case "http://h/list?page=2": Self.page("[2]", link: #"<a>; rel=last, <?page=3>; title="x, y"; rel=NEXT"#)
            default: Self.page("[3]", link: #"</list>; rel=first"#)
            }
        }
        let pages = session.pages(of: [Int].self, from: "http://h/list", by: .linkHeader, ahead: ahead)
        #expect(try await all(pages) == [[1], [2], [3]])
        #expect(paths == ["/list", "/list?page=2", "/list?page=3"])
    }

    @Test(
        "Links are parsed as RFC 8288 says",
        arguments: [
            (#"<a>; rel=next"#, ["a"]), (#"  <a>  ;  rel = "next"  "#, ["a"]), (#"<a>;rel="prev next""#, ["a"]),
            (#"<a,b;c>; title="d, <e>; rel=next"; rel=next"#, ["a,b;c"]), (#"<a>; rel=prev; rel=next"#, []),
            (#"<a>; rel="NEXT""#, ["a"]), (#"<a>; rev=next"#, []), (#"<a>; rel=next, <b>; rel=next"#, ["a", "b"]),
            (#"<a; rel=next"#, []), (#"a; rel=next, <b>; rel=next"#, ["b"]), (#",,<a>;;rel=next,"#, ["a"]),
            (#"<a>; title="x\"y, <z>"; rel="next""#, ["a"]), (#"<a>; rel="next"#, ["a"]), (#""#, []),
            (#"<>; rel=next"#, [""]),
        ])
    func links(field: String, targets: [String]) {
        let head = ResponseHead(status: 200, fields: [HTTPHeader(name: "Link", value: field)])
        #expect(head.links.filter { $0.relations.contains("next") }.map(\.target) == targets)
    }

    @Test(
        "An extended title is decoded and replaces the plain title; an invalid one is ignored",
        arguments: [
            (#"<a>; title="plain""#, "plain"), (#"<a>; title*=UTF-8''na%C3%AFve"#, "naïve"),
            (#"<a>; title="plain"; title*=UTF-8'en'n%C3%A4ive"#, "näive"),
            (#"<a>; Title*=utf-8'de'n%c3%a4chstes%20Kapitel; title="plain""#, "nächstes Kapitel"),
            (#"<a>; title*="UTF-8''quoted"; title=x"#, "quoted"), (#"<a>; title*=UTF-8''; title=x"#, ""),
            (#"<a>; title*=UTF-8''a; title*=UTF-8''b"#, "a"), (#"<a>; title*=UTF-8''%FF; title*=UTF-8''b"#, "b"),
            (#"<a>; title*=UTF-8''%FF; title=x"#, "x"), (#"<a>; title*=UTF-8''%E; title=x"#, "x"),
            (#"<a>; title*=UTF-8''%zz; title=x"#, "x"), (#"<a>; title*=ISO-8859-1''%E4; title=x"#, "x"),
            (#"<a>; title*=plain; title=x"#, "x"), (#"<a>; title*; title=x"#, "x"), (#"<a>; title*=UTF-8'a"#, nil),
            (#"<a>; title*="#, nil), (#"<a>; *=UTF-8''x"#, nil), (#"<a>; type*=UTF-8''x; anchor*=UTF-8''x"#, nil),
        ])
    func extendedTitles(field: String, title: String?) {
        let links = ResponseHead(status: 200, fields: [HTTPHeader(name: "Link", value: field + "; rel=next")]).links
        #expect(links == [WebLink(target: "a", relations: ["next"], parameters: title.map { ["title": $0] } ?? [:])])
    }

    @Test("A field with very many opening brackets is read once, not once for each", .limited)
    func manyBrackets() {
        let field = String(repeating: "<", count: 290_000)
        let head = ResponseHead(status: 200, fields: [HTTPHeader(name: "Link", value: field)])
        #expect(head.links.isEmpty)
    }

    @Test("A link about another resource is ignored, one about this page is followed")
    func anchors() async throws {
        let session = session { request in
            switch request.url.path {
            case "/a": Self.page("[1]", link: #"</x>; rel=next; anchor="/other", </b>; rel=next; anchor="/a""#)
            case "/b": Self.page("[2]", link: #"</x>; rel=next; anchor="http://other/b""#)
            default: Self.page("[9]")
            }
        }
        #expect(try await all(session.pages(of: [Int].self, from: "http://h/a", by: .linkHeader)) == [[1], [2]])
    }

    @Test("A cursor in the body is sent as a parameter, and the other parameters stay")
    func cursors() async throws {
        let session = session { request in
            let isFirst = request.url.query?.contains("cursor") != true
            return Self.page(isFirst ? #"{"items": [1], "next": "a&b"}"# : #"{"items": [2], "next": ""}"#)
        }
        let url = "http://h/list?q=x%20y"
        let byClosure = session.pages(of: Page.self, from: url, by: .cursor(in: \.next, parameter: "cursor"))
        #expect(try await all(byClosure).flatMap(\.items) == [1, 2])
        let byPath = session.pages(of: Page.self, from: url, by: .cursor(in: "next", parameter: "cursor"))
        #expect(try await all(byPath).flatMap(\.items) == [1, 2])
        #expect(
            paths == ["/list?q=x%20y", "/list?q=x%20y&cursor=a%26b", "/list?q=x%20y", "/list?q=x%20y&cursor=a%26b"])
    }

    @Test("Page numbers are counted up to the first empty page, or to the last one")
    func pageNumbers() async throws {
        let session = session { request in
            Self.page(request.url.query?.hasSuffix("page=3") == true ? "[]" : "[1]")
        }
        #expect(
            try await all(session.pages(of: [Int].self, from: "http://h/", by: .pageNumber(parameter: "page"))).count
                == 2)
        #expect(paths == ["/?page=1", "/?page=2", "/?page=3"])
        let from2 = session.pages(of: [Int].self, from: "http://h/?page=2&x=1", by: .pageNumber(parameter: "page"))
        #expect(try await all(from2).count == 1)
        let one = session.pages(
            of: Page?.self, from: "http://h/", by: .pageNumber(parameter: "p", first: 0, isLast: { $0 == nil }))
        await #expect(throws: RequestError.self) { try await all(one) }
    }

    @Test("A closure names the next page")
    func custom() async throws {
        let session = session { request in Self.page(request.url.path == "/a" ? "[1]" : "[2]") }
        let pages = session.pages(
            of: [Int].self, from: "http://h/a", by: .custom { $0.value == [1] ? "/b" : nil })
        #expect(try await all(pages) == [[1], [2]])
    }

    // MARK: Rules

    @Test("Pages that lead in a circle end with .pageLoop, after the pages before")
    func loop() async throws {
        let session = session { request in
            Self.page("[1]", link: request.url.path == "/a" ? "</b>; rel=next" : "</a>; rel=next")
        }
        var count = 0
        let error = await #expect(throws: RequestError.self) {
            for try await _ in session.pages(of: [Int].self, from: "http://h/a", by: .linkHeader) { count += 1 }
        }
        #expect(error?.code == .pageLoop)
        #expect(count == 2)
        #expect(log.count == 2)
    }

    @Test("Pages without end stop after 1,000, and a limit of the caller is exact", arguments: [nil, 1, 3] as [Int?])
    func endless(limit: Int?) async throws {
        let session = session { request in
            let number = Int(request.url.path.dropFirst()) ?? 0
            return Self.page("[\(number)]", link: "</\(number + 1)>; rel=next")
        }
        let first = "http://h/0"
        let pages =
            limit.map { session.pages(of: [Int].self, from: first, by: .linkHeader, ahead: true, limit: $0) }
            ?? session.pages(of: [Int].self, from: first, by: .linkHeader)
        var count = 0
        let error = await #expect(throws: RequestError.self) { for try await _ in pages { count += 1 } }
        #expect(error?.code == .tooManyPages)
        #expect(count == limit ?? 1_000 && log.count == count)
        let finite = self.session { Self.page("[1]", link: $0.url.path == "/0" ? "</1>; rel=next" : nil) }
        #expect(try await all(finite.pages(of: [Int].self, from: first, by: .linkHeader, limit: 2)) == [[1], [1]])
    }

    @Test("Random links: the pages are those of a walk, which ends at a page without a link or before a circle")
    func randomLinks() async throws {
        for seed in 0..<UInt64(rounds(50, nightly: 10_000)) {
            var random = SeededRandom(seed: seed)
            let count = Int.random(in: 1...6, using: &random)
            let links = (0..<count).map { _ in random.once(in: 4) ? nil : Int.random(in: 0..<count, using: &random) }
            var (walk, next): ([Int], Int?) = ([], 0)
            while let page = next, !walk.contains(page) {
                walk.append(page)
                next = links[page]
            }
            let stub = StubTransport { request in
                let page = Int(request.url.path.dropFirst()) ?? 0
                return Self.page("[\(page)]", link: links[page].map { "</\($0)>; rel=next" })
            }
            var (pages, error): ([Int], RequestError?) = ([], nil)
            let ahead = random.once(in: 2)
            do {
                let all = Session(configuration: .bare, transport: stub)
                    .pages(of: [Int].self, from: "http://h/0", by: .linkHeader, ahead: ahead)
                for try await page in all { pages += page }
            } catch let failure as RequestError { error = failure }
            #expect(pages == walk, "seed \(seed)")
            #expect(error?.code == (next == nil ? nil : .pageLoop), "seed \(seed)")
        }
    }

    @Test("A page of another origin gets neither the own fields nor secret fields of the session")
    func otherOrigin() async throws {
        let configuration = SessionConfiguration {
            $0.headers = ["Authorization": "Bearer s", "X-API-Key": "k", "X-Auth-Token": "t", "Accept": "*/*"]
        }
        let session = session(configuration) { request in
            Self.page("[1]", link: request.url.host == "h" ? "<http://other/>; rel=next" : nil)
        }
        let pages = session.pages(of: [Int].self, from: "http://h/", by: .linkHeader, headers: ["X-Own": "1"])
        #expect(try await all(pages).count == 2)
        #expect(
            log.requests[0].fields.map(\.name).sorted()
                == ["Accept", "Authorization", "X-API-Key", "X-Auth-Token", "X-Own"])
        #expect(log.requests[1].fields.map(\.name) == ["Accept"])
    }

    @Test("User and password of the first URL go to the pages of its origin")
    func userInfo() async throws {
        let session = session { request in
            Self.page("[1]", link: request.url.path == "/" ? "<http://h/2>; rel=next" : "<http://other/>; rel=next")
        }
        let pages = session.pages(of: [Int].self, from: "http://u:p@h/", by: .linkHeader)
        _ = try? await pages.prefix(3).reduce(0) { $0 + $1.count }
        #expect(
            log.requests.prefix(3).map { $0.fields.contains { $0.name == "Authorization" } } == [true, true, false])
    }

    @Test(
        "A link from https to http, or to another scheme, ends the pages with .pageRefused",
        arguments: ["http://h/", "ftp://h/", "http:", "https://h\u{7}"])
    func refused(target: String) async throws {
        let session = session { _ in Self.page("[1]", link: "<\(target)>; rel=next") }
        let error = await #expect(throws: RequestError.self) {
            _ = try await all(session.pages(of: [Int].self, from: "https://h/a", by: .linkHeader))
        }
        #expect(error?.code == .pageRefused)
        #expect(log.count == 1)
    }

    @Test("Retries work as for any request, and a failed page ends the sequence with its error")
    func failures() async throws {
        let session = log.session(
            .bare, interceptor: Interceptor(retry: { request, _, _ in request.retryCount == 0 ? .retry : .doNotRetry })
        ) {
            _, number in
            switch number {
            case 1, 3, 4: .text("no", status: 503)
            default: Self.page("[1]", link: "</b>; rel=next")
            }
        }
        var iterator = session.pages(of: [Int].self, from: "http://h/a", by: .linkHeader).makeAsyncIterator()
        #expect(try await iterator.next() == [1])
        let error = await #expect(throws: RequestError.self) { _ = try await iterator.next() }
        #expect(error?.statusCode == 503)
        #expect(try await iterator.next() == nil)
    }

    @Test("With ahead, the next page is requested during the loop's body, and cancelled at the end of the loop")
    func ahead() async throws {
        let transport = HeldTransport()
        var hops = transport.hops
        let session = Session(transport: transport)
        let pages = session.pages(of: [Int].self, from: "http://h/a", by: .linkHeader, ahead: true)
        let gate = Gate()
        let loop = Task {
            for try await page in pages {
                #expect(page == [1])
                await gate.pass()
                break
            }
        }
        try #require(await hops.next()).answer(200, ["Link": "</b>; rel=next"], body: "[1]")
        _ = try #require(await hops.next())
        #expect(await session.requests.count == 1)
        gate.open()
        try await loop.value
        await poll { await session.requests.isEmpty }
    }

    @Test("A cancelled task ends with CancellationError")
    func cancellation() async throws {
        let transport = HeldTransport()
        var hops = transport.hops
        let session = Session(transport: transport)
        let pages = session.pages(of: [Int].self, from: "http://h/a", by: .linkHeader)
        let task = Task { try await all(pages) }
        _ = await hops.next()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("Each page is configured, and its response can be had, too")
    func configured() async throws {
        let session = session { request in
            Self.page("[1]", link: request.url.path == "/a" ? "</b>; rel=next" : nil)
        }
        let pages = session.pages(of: [Int].self, from: "http://h/a", by: .linkHeader) { $0.priority(.low) }
        var statuses: [Int?] = []
        for try await response in pages.responses { statuses.append(response.head?.status) }
        #expect(statuses == [200, 200])
        #expect(log.requests.map(\.priority) == [.low, .low])
    }
}
