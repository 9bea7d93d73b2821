import Larkspur
import Measuring

#if os(Linux)
    /// Requests to a real server, through the public interface.
    struct LoadBenchmark: Sendable {
        let plan: Plan
        private let transport: CurlTransport
        private let session: Session

        init(_ plan: Plan) {
            self.plan = plan
            transport = CurlTransport(
                configuration: .init { configuration in
                    if let path = plan.certificateAuthorities {
                        configuration.certificateAuthorities = .file(path: path)
                    }
                })
            session = Session(transport: transport)
        }

        func run() async {
            let perform: @Sendable () async throws -> Int
            if plan.streams {
                perform = { try await download() }
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

        /// Over the transport directly: the framework has no streamed response yet.
        private func download() async throws -> Int {
            let request = TransportRequest(url: try RequestURL(plan.url))
            return try await withCheckedThrowingContinuation { continuation in
                transport.task(for: request, id: TransportTaskID(1), delegate: Drain(continuation)).resume()
            }
        }

        /// Counts a body's bytes and keeps none.
        private final class Drain: TransportDelegate {
            private let count = Protected(0)
            private let continuation: CheckedContinuation<Int, any Error>

            init(_ continuation: CheckedContinuation<Int, any Error>) {
                self.continuation = continuation
            }

            func received(_ event: TransportEvent, for task: TransportTaskID) {
                switch event {
                case .body(let data): count.withLock { $0 += data.count }
                case .completed(let error?): continuation.resume(throwing: error)
                case .completed(nil): continuation.resume(returning: count.withLock { $0 })
                default: break
                }
            }

            func answer(_ question: TransportQuestion, for task: TransportTaskID) {}
        }
    }
#endif
