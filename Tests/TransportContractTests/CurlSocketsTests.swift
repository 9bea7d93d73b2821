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

        @Test("A socket without an IP address is never taken for the connection to be shut down")
        func shutDown() {
            let datagrams = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
            defer { close(datagrams) }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(9).bigEndian
            address.sin_addr.s_addr = in_addr_t(UInt32(0x7F00_0001).bigEndian)
            let size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let result = withUnsafeBytes(of: &address) { bytes in
                bytes.baseAddress.map { connect(datagrams, $0.assumingMemoryBound(to: sockaddr.self), size) }
            }
            #expect(result == 0)
            var ends: [Int32] = [-1, -1]
            #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
            defer { ends.forEach { close($0) } }
            let (port, end) = (clarkspur_socket_local_port(datagrams), ends[0])
            "127.0.0.1".withCString { text in
                // The first call has another remote port. It leaves the address in memory that the second call uses.
                clarkspur_socket_shut_down(datagrams, port, text, 1)
                clarkspur_socket_shut_down(end, 0, text, 0)
                clarkspur_socket_shut_down(end, 0, "", 0)
            }
            #expect(send(ends[1], "x", 1, Int32(MSG_NOSIGNAL)) == 1, "the socket was shut down")
        }
    }
#endif
