#if os(Linux)
    import Larkspur
    import LarkspurTesting

    /// Plays scripts to an engine over real sockets, each at its own path.
    final class ServerPeer: ContractPeer {
        /// The maximum number of bytes in one event of an engine.
        static let buffer = 256 * 1_024

        let transport: any Transport
        private let server: MockServer
        private let pages = Protected(0)

        init(_ transport: any Transport) throws {
            self.transport = transport
            server = try MockServer()
        }

        func url(playing script: [PeerStep]) throws -> RequestURL {
            let page = pages.withLock { pages in
                pages += 1
                return pages
            }
            let response = MockResponse(script.compactMap(Self.step(for:)))
            if script.contains(where: \.isNeedBodyAgain) {
                server.on(nil, "/\(page)", MockResponse([.close]), response)
            } else {
                server.on(nil, "/\(page)", response)
            }
            return try RequestURL("\(server.url)/\(page)?q=a%20b")
        }

        func requests(at url: RequestURL) -> [ReceivedRequest] {
            server.requests.filter { url.text == server.url + $0.target }.map { request in
                ReceivedRequest(
                    method: request.method, target: request.target, fields: Array(request.headers),
                    body: Array(request.body), trailers: Array(request.trailers))
            }
        }

        private static func step(for step: PeerStep) -> MockResponse.Step? {
            switch step {
            case .interim(let status, let fields): .interim(status, HTTPHeaders(fields))
            case .head(let head): .head(ResponseHead(status: head.status, rawFields: head.rawFields), framing(of: head))
            case .bytes(let bytes): .body(Data(bytes))
            case .trailers(let fields): .trailers(HTTPHeaders(fields))
            case .wait(let gate): .pause { try await gate.passUnlessCancelled() }
            case .stall: .stall
            case .close: .close
            case .reset: .reset
            case .needBodyAgain: nil
            }
        }

        private static func framing(of head: PeerHead) -> MockResponse.Framing {
            head.length.map { .length(UInt64($0)) } ?? .chunked
        }
    }

    extension PeerStep {
        fileprivate var isNeedBodyAgain: Bool {
            if case .needBodyAgain = self { true } else { false }
        }
    }
#endif
