import Larkspur
import Measuring

#if os(Linux)
    /// Requests to a real server through the public interface.
    struct LoadBenchmark: Sendable {
        let plan: Plan
        private let session: Session

        init(_ plan: Plan) {
            self.plan = plan
            let transport = CurlTransport(
                configuration: .init { configuration in
                    if let path = plan.certificateAuthorities {
                        configuration.certificateAuthorities = .file(path: path)
                    }
                    if let connections = plan.connections { configuration.maximumConnectionsPerHost = connections }
                    if let loops = plan.loops { configuration.loops = loops }
                })
            let configuration = SessionConfiguration { if plan.isBare { $0.headers = ["Accept": "*/*"] } }
            session = Session(configuration: configuration, transport: transport)
        }

        func run() async {
            let perform: @Sendable () async throws -> Int
            if plan.streams {
                perform = { try await stream() }
            } else if let path = plan.download {
                perform = { try await download(to: path) }
            } else if let path = plan.upload {
                perform = { try await upload(path) }
            } else {
                perform = { try await read(session.request(plan.url).validate()) }
            }
            await Measurement(plan, perform: perform).run(variant: "larkspur")
        }

        private func read(_ request: DataRequest) async throws -> Int {
            switch plan.reading {
            case .data: return try await request.serializingData().value.count
            case .decoded: return try await size(request.serializingDecodable(Page.self))
            case .json: return try await size(request.serializingJSON())
            }
        }

        private func size<Value>(_ task: DataTask<Value>) async throws -> Int {
            let response = await task.response
            _ = try response.result.get()
            return response.data?.count ?? 0
        }

        private func upload(_ path: String) async throws -> Int {
            let body = try TransportBody.file(URL(fileURLWithPath: path))
            let request = OutgoingRequest(method: .put, url: try RequestURL(plan.url), body: body)
            _ = try await session.request(request).validate().serializingData().value
            return Int(body.length ?? 0)
        }

        private func stream() async throws -> Int {
            var count = 0
            for try await chunk in await session.streamRequest(plan.url).validate().bytes { count += chunk.count }
            return count
        }

        private func download(to path: String) async throws -> Int {
            let file = URL(fileURLWithPath: path)
            let request = await session.download(plan.url, to: .file(file), options: [.removePreviousFile]).validate()
            return try await request.serializingFile().value.size
        }
    }
#endif
