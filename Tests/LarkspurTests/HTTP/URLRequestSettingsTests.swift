import Larkspur
import LarkspurTesting
import TestSupport
import Testing

@testable import LarkspurCore

#if Foundation || canImport(Darwin)
    @Suite("The settings of URLRequest and URLSessionConfiguration", .limited)
    struct URLRequestSettingsTests {
        private let log = TransportLog()

        private func foundation(_ change: (inout URLRequest) -> Void) throws -> OutgoingRequest {
            var request = URLRequest(url: try #require(URL(string: "http://h/")))
            change(&request)
            return try request.asOutgoingRequest()
        }

        @Test(
            "A cache policy of Foundation is kept, and read back",
            arguments: [
                (NSURLRequest.CachePolicy.reloadIgnoringLocalCacheData, CachePolicy.reload),
                (.returnCacheDataDontLoad, .onlyCached), (.useProtocolCachePolicy, nil),
            ] as [(NSURLRequest.CachePolicy, CachePolicy?)])
        func cachePolicy(policy: NSURLRequest.CachePolicy, expected: CachePolicy?) throws {
            var request = try foundation { $0.cachePolicy = policy }
            #expect(request.options.cachePolicy == expected)
            request.urlRequest.httpMethod = "POST"
            #expect(request.options.cachePolicy == expected)
            #expect((request.urlRequest.cachePolicy == .useProtocolCachePolicy) == (expected == nil))
        }

        @Test("A request of Foundation that asks for the cache alone is not sent")
        func onlyCached() async throws {
            var request = URLRequest(url: try #require(URL(string: "http://h/")))
            request.cachePolicy = .returnCacheDataDontLoad
            let session = log.session(SessionConfiguration { $0.cache = .inMemory(limit: 1 << 20) })
            #expect(await session.request(request).serializingData().response.error?.code == .notCached)
            #expect(log.count == 0)
        }

        @Test("Settings that have no effect are reported once, by name")
        func reported() async throws {
            let recorder = EventRecorder()
            let session = log.session(
                SessionConfiguration {
                    $0.headers = [:]
                    $0.eventMonitors = [recorder]
                })
            for _ in 0..<2 {
                let request = try foundation {
                    $0.allowsCellularAccess = false
                    $0.networkServiceType = .background
                }
                _ = try await session.request(request).serializingData().value
            }
            await recorder.receiveAllEvents()
            let remarks = recorder.events.compactMap { event -> Advice? in
                if case .advise(let advice) = event { advice } else { nil }
            }
            #expect(remarks.map(\.kind) == [.ignoredURLRequestSettings])
            #expect(remarks.first?.description.contains("allowsCellularAccess and networkServiceType") == true)
            #expect(log.count == 2)
        }

        @Test("A configuration of Foundation gives a session its fields, limits, cache policy and cookies")
        func configuration() async throws {
            let settings = URLSessionConfiguration.ephemeral
            settings.headers = ["X-App": "1", "Accept-Language": "fr"]
            settings.timeoutIntervalForRequest = 7
            settings.timeoutIntervalForResource = 70
            settings.requestCachePolicy = .reloadRevalidatingCacheData
            settings.httpShouldSetCookies = false
            #expect(settings.headers["X-App"] == "1" && settings.headers.count == 2)
            let configuration = SessionConfiguration(settings)
            #expect(configuration.options.timeouts.idle == .seconds(7))
            #expect(configuration.options.timeouts.firstByte == .seconds(7))
            #expect(configuration.options.timeouts.total == .seconds(70))
            #expect(configuration.options.cachePolicy == .revalidate)
            #expect(configuration.options.usesCookieJar == false)
            _ = try await log.session(configuration).request("http://h/").serializingData().value
            #expect(log.requests.first?["X-App"] == "1" && log.requests.first?["Accept-Language"] == "fr")
            #expect(log.requests.first?["User-Agent"] != nil)
        }
    }
#endif
