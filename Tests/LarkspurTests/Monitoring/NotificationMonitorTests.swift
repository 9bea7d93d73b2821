import Larkspur
import LarkspurTesting
import TestSupport
import Testing

#if Foundation || canImport(Darwin)
    @Suite("Notifications", .limited)
    struct NotificationMonitorTests {
        /// The facts of a notification, because a notification cannot be passed between threads.
        private struct Facts: Sendable {
            let request: RequestID?
            let code: RequestError.Code?
            let status: Int?
            let data: Data?
            let file: URL?
            let hasMetrics: Bool

            init(_ notification: Notification) {
                request = notification.larkspurRequest?.id
                code = (notification.larkspurError as? RequestError)?.code
                (status, data) = (notification.larkspurHead?.status, notification.larkspurData)
                (file, hasMetrics) = (notification.larkspurFileURL, notification.larkspurMetrics != nil)
            }
        }

        private let center = NotificationCenter()
        private let log = TransportLog()

        /// Returns the facts of the first notification with the name that the work causes.
        private func facts(
            _ name: Notification.Name, of work: (Session) async -> Void
        ) async throws -> Facts {
            let (stream, place) = AsyncStream.makeStream(of: Facts.self)
            let observer = center.addObserver(forName: name, object: nil, queue: nil) { place.yield(Facts($0)) }
            defer { center.removeObserver(observer) }
            var configuration = SessionConfiguration.bare
            configuration.eventMonitors = [NotificationMonitor(center: center)]
            let session = log.session(configuration) { request, _ in
                request.url.path == "/lost" ? .failure(.connectionLost) : .text("body", status: 201)
            }
            await work(session)
            return try #require(await stream.first { _ in true })
        }

        @Test("The end of a request has its head, body and metrics; a failed one has its error")
        func finish() async throws {
            let done = try await facts(.larkspurRequestDidFinish) {
                _ = await $0.request("http://h/").serializingData().response
            }
            #expect(done.request != nil && done.code == nil && done.status == 201 && done.hasMetrics)
            #expect(done.data == Data("body".utf8) && done.file == nil)
            let failed = try await facts(.larkspurRequestDidFinish) {
                _ = await $0.request("http://h/lost").serializingData().response
            }
            #expect(failed.code == .connectionLost && failed.status == nil && failed.data == nil)
        }

        @Test("The end of a download has its file")
        func download() async throws {
            let folder = try TemporaryFolder()
            let place = folder["a"]
            let done = try await facts(.larkspurRequestDidFinish) {
                _ = await $0.download("http://h/", to: place).serializingFile().response
            }
            #expect(done.file == place && done.data == nil)
        }

        @Test("The end of a session has a notification")
        func invalidation() async throws {
            let end = try await facts(.larkspurSessionDidInvalidate) { await $0.invalidate() }
            #expect(end.request == nil && end.code == nil)
        }
    }
#endif
