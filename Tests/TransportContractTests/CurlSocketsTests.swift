#if os(Linux)
    import CLarkspur
    import Foundation
    import Testing

    @testable import LarkspurCurl

    @Suite("Registered sockets")
    struct CurlSocketsTests {
        @Test("A socket that the system does not watch is known as such, and registered the next time")
        func refused() {
            var poller = clarkspur_poller(queue: -1, waker: -1)
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(descriptor) }
            var sockets = CurlSockets()
            #expect(!sockets.want(1, of: descriptor, poller: &poller))
            #expect(clarkspur_poller_open(&poller))
            defer { clarkspur_poller_close(&poller) }
            #expect(sockets.want(1, of: descriptor, poller: &poller))
            // What is registered is found: to change it is no error, as adding it once more would be.
            #expect(clarkspur_poller_watch(&poller, descriptor, 1, 2))
        }
    }
#endif
