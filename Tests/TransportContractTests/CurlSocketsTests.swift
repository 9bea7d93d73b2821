#if os(Linux)
    import CLarkspur
    import Foundation
    import Testing

    @testable import LarkspurCurl

    @Suite("Registered sockets")
    struct CurlSocketsTests {
        @Test("A socket that could not be registered is registered the next time")
        func refused() {
            var poller = clarkspur_poller(queue: -1, waker: -1)
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(descriptor) }
            var sockets = CurlSockets()
            #expect(!sockets.want(1, of: descriptor, poller: &poller))
            #expect(clarkspur_poller_open(&poller))
            defer { clarkspur_poller_close(&poller) }
            #expect(sockets.want(1, of: descriptor, poller: &poller))
            // The descriptor is registered: changing it succeeds, and adding it again would fail.
            #expect(clarkspur_poller_watch(&poller, descriptor, 1, 2))
        }

        @Test("A socket that libcurl does not write to is not watched for writing until it is released")
        func held() {
            var poller = clarkspur_poller(queue: -1, waker: -1)
            #expect(clarkspur_poller_open(&poller))
            defer { clarkspur_poller_close(&poller) }
            var ends: [Int32] = [-1, -1]
            #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
            defer { ends.forEach { close($0) } }
            var ready = [clarkspur_ready](repeating: clarkspur_ready(), count: 4)
            func events() -> [Int32] {
                let count = clarkspur_poller_wait(&poller, &ready, 4, 0)
                return ready.prefix(Int(count)).map(\.interest)
            }
            var sockets = CurlSockets()
            sockets.didOpen(ends[0])
            #expect(sockets.want(3, of: ends[0], poller: &poller))
            let now = CurlClock.now
            for count in 1...8 {
                // The fourth call reports sent bytes, which resets the count.
                sockets.didWrite(ends[0], hasSent: count == 4, at: now, poller: &poller)
                #expect(sockets.isHeld(ends[0]) == (count == 8))
                #expect(events() == (count == 8 ? [] : [2]))
            }
            #expect(sockets.releaseTime > now && sockets.releaseTime < .max)
            #expect(write(ends[1], "x", 1) == 1)
            #expect(events() == [1], "the socket is still watched for reading")
            sockets.releaseAll(poller: &poller)
            #expect(!sockets.isHeld(ends[0]) && events() == [3])
            sockets.didWrite(ends[0], hasSent: false, at: now, poller: &poller)
            #expect(sockets.isHeld(ends[0]), "the socket is held again at once if nothing is sent")
            sockets.didWrite(ends[0], hasSent: true, at: now, poller: &poller)
            #expect(!sockets.isHeld(ends[0]) && sockets.releaseTime == CurlClock.never)
        }
    }
#endif
