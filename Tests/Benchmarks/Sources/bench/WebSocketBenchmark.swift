import CAllocations
import CCodings
import Larkspur
import LarkspurTesting
import Measuring

/// One scenario of WebSockets, for `websockets.py`, which runs it alternately with the client in C.
struct WebSocketBenchmark: Sendable {
    enum Scenario: String, CaseIterable {
        case echo, send, receive, idle, deflate
    }

    let session: Session
    let url: String
    let size: Int
    let count: Int
    /// The port of the plain server, for the connections that a TLS server forwards.
    let port: String

    /// - Parameter arguments: The scenario, the server's URL, the size of a message and the number of messages or
    ///   sockets; then, for TLS, a certificate authority's file and the port of the plain server.
    init?(_ arguments: [String]) {
        guard arguments.count >= 4, let size = Int(arguments[2]), let count = Int(arguments[3]) else { return nil }
        (url, self.size, self.count) = (arguments[1], size, count)
        port = arguments.dropFirst(5).first ?? ""
        let authorities = arguments.dropFirst(4).first
        let configuration = CurlTransport.Configuration { configuration in
            if let authorities { configuration.certificateAuthorities = .file(path: authorities) }
        }
        session = Session(transport: CurlTransport(configuration: configuration))
    }

    /// Prints one line of figures.
    func run(_ scenario: Scenario) async throws {
        switch scenario {
        case .echo: try await echo()
        case .send: try await send()
        case .receive: try await receive()
        case .idle: try await idle()
        case .deflate: try await deflate()
        }
    }

    private func socket(_ path: String, compression: WebSocketCompression? = nil) async throws -> WebSocketRequest {
        let options = WebSocketOptions { $0.compression = compression }
        let socket = await session.webSocket(
            url + path, headers: ["X-Forward-Port": port], options: options)
        _ = try await socket.opened
        return socket
    }

    /// Sends a message and waits for its echo, again and again.
    private func echo() async throws {
        let socket = try await socket("/echo")
        let message = Data(count: size)
        var reader = socket.messages.makeAsyncIterator()
        var times: [Duration] = []
        times.reserveCapacity(count)
        for _ in 0..<count {
            let start = ContinuousClock.now
            try await socket.send(message)
            let answer = try await reader.next()
            times.append(ContinuousClock.now - start)
            precondition(answer == .data(message), "the message must come back")
        }
        print("p50_us=\(rounded(times.sorted()[count / 2] / .microseconds(1)))")
    }

    /// Sends messages, and waits for the answer to the close.
    private func send() async throws {
        let socket = try await socket("/sink")
        let message = Data(count: size)
        let start = ContinuousClock.now
        for _ in 0..<count { try await socket.send(message) }
        try await socket.close()
        printRate(since: start)
    }

    private func receive() async throws {
        let socket = try await socket("/source/\(size)/\(count)")
        let start = ContinuousClock.now
        var (received, peak) = (0, 0)
        for try await message in socket.messages {
            guard case .data(let data) = message, data.count == size else { preconditionFailure("another message") }
            received += 1
            if received == count / 10 { peak = larkspur_peak_kib() }
        }
        precondition(received == count, "all messages must arrive")
        printRate(since: start, "rss_growth_kib=\(larkspur_peak_kib() - peak)")
    }

    private func printRate(since start: ContinuousClock.Instant, _ more: String = "") {
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        print("rate=\(Int(Double(count) / seconds))", more)
    }

    /// The resident memory of a socket that does nothing after its opening and, with compression, one message.
    private func idle() async throws {
        let variants: [(String, String, WebSocketCompression?)] = [
            ("plain", "/echo", nil), ("deflate", "/echo-deflate", .deflate),
            ("deflate-reset", "/echo-deflate-reset", .deflate),
        ]
        for (name, path, compression) in variants {
            // The first sockets of a process also create what all sockets share.
            let first = try await opened(50, path, compression)
            larkspur_return_free_memory()
            let before = residentKiB()
            let sockets = try await opened(count, path, compression)
            larkspur_return_free_memory()
            let each = Double(residentKiB() - before) / Double(count)
            print("variant=\(name) sockets=\(count) kib_each=\(rounded(each))")
            for socket in first + sockets { socket.cancel() }
        }
    }

    private func opened(
        _ count: Int, _ path: String, _ compression: WebSocketCompression?
    ) async throws -> [WebSocketRequest] {
        var sockets: [WebSocketRequest] = []
        for _ in 0..<count {
            let socket = try await socket(path, compression: compression)
            if compression != nil {
                try await socket.send(Data(repeating: 7, count: 200))
                for try await _ in socket.messages(automaticallyClosing: false) { break }
            }
            sockets.append(socket)
        }
        return sockets
    }

    /// Echoes JSON with compression, compared with zlib's own calls for the same text: megabytes a second of CPU time,
    /// where each byte is compressed and decompressed once.
    private func deflate() async throws {
        let text = (0..<size / 64).map { #"{"id":\#($0),"name":"item \#($0 * 7)","price":\#($0 % 97)}"# }.joined(
            separator: ",\n")
        let document = Data(text.utf8)
        let socket = try await socket("/echo-deflate-reset", compression: .deflate)
        var (larkspur, library) = ([Double](), [Double]())
        for _ in 0..<7 {
            larkspur.append(
                try await Rate.megabytesASecond(of: document.count) {
                    try await socket.send(document)
                    for try await message in socket.messages(automaticallyClosing: false) {
                        precondition(message == .data(document), "the message must come back")
                        break
                    }
                })
            library.append(await Rate.megabytesASecond(of: document.count) { throughZlib(document) })
        }
        print(
            "larkspur_mbps=\(Rate.median(larkspur)) library_mbps=\(Rate.median(library))",
            "vs_library=\(Rate.median(zip(larkspur, library).map { $0 / $1 }))")
    }

    private func throughZlib(_ document: Data) {
        var (coded, decoded) = (Data(count: document.count + 1_024), Data(count: document.count))
        let count = document.withUnsafeBytes { input in
            coded.withUnsafeMutableBytes { output in
                larkspur_encode(
                    larkspur_deflate, input.bindMemory(to: UInt8.self).baseAddress, input.count,
                    output.bindMemory(to: UInt8.self).baseAddress, output.count)
            }
        }
        let length = coded.withUnsafeBytes { input in
            decoded.withUnsafeMutableBytes { output in
                larkspur_decode(
                    larkspur_deflate, input.bindMemory(to: UInt8.self).baseAddress, count,
                    output.bindMemory(to: UInt8.self).baseAddress, output.count)
            }
        }
        precondition(length == document.count, "the whole text must come back")
    }

    /// Returns the memory in use. Linux only; elsewhere the peak.
    private func residentKiB() -> Int {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else {
            return larkspur_peak_kib()
        }
        return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4
    }

    private func rounded(_ value: Double) -> Double { (value * 100).rounded() / 100 }
}
