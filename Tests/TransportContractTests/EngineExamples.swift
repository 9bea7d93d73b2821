import Larkspur
import LarkspurTesting
import LarkspurURLSession
import TestSupport
import Testing

#if os(Linux)
    import LarkspurCurl
#endif

// The code of the guide "Engines", word for word.

#if os(Linux)
    extension URLSessionTests {
        @Test("The code of the guide makes sessions over URLSession, and they send requests")
        func guide() async throws {
            let server = try MockServer()
            server.on("GET", "/joke") { request in .json(#"{"setup": "knock"}"#) }
            let unshared = Session(
                transport: URLSessionTransport(configuration: .ephemeral))
            var options = URLSessionTransport.Options()
            options.waitsForConnectivity = true
            options.allowsCellularAccess = false
            let patient = Session(transport: URLSessionTransport(options: options))
            for session in [unshared, patient] {
                let joke = try await session.request(server.url + "/joke").serializingJSON().value
                #expect(joke["setup"] == "knock")
            }
        }
    }

    @Suite("The guide to engines", .limited)
    struct EngineExamples {
        @Test("A session uses the given engine")
        func libcurl() async throws {
            let server = try MockServer()
            server.on("GET", "/joke") { request in .json(#"{"setup": "knock"}"#) }
            let direct = Session(transport: CurlTransport())
            let joke = try await direct.request(server.url + "/joke").serializingJSON().value
            #expect(joke["setup"] == "knock")
        }

        /// Not run: the process would load this libcurl.
        func http3() async throws {
            var configuration = CurlTransport.Configuration()
            configuration.libraryPath =
                "/usr/lib/x86_64-linux-gnu/libcurl-gnutls.so.4"
            let transport = CurlTransport(configuration: configuration)
            if transport.library?.hasHTTP3 == true {
                let session = Session(transport: transport)
                let request = await session.request("https://example.com/") {
                    $0.options.httpVersion = .http3
                }
                let page = try await request.serializingString().value
                print(page)
            }
        }
    }
#endif
