#if canImport(Darwin)
    extension OutgoingBody {
        /// Returns the stream that `URLSession` reads. Its bytes come through a pair of bound streams.
        func makeInputStream() -> InputStream? {
            var input: InputStream?
            var output: OutputStream?
            Stream.getBoundStreams(withBufferSize: BoundBody.bufferSize, inputStream: &input, outputStream: &output)
            guard let input, let output else { return nil }
            BoundBody(self, output).start()
            return input
        }
    }

    /// Writes a body to the output end of a pair of bound streams, whenever the pair has room and the body has bytes.
    private final class BoundBody: NSObject, StreamDelegate, @unchecked Sendable {
        // rule R6: only the run loop of `StreamThread` uses the properties below
        static let bufferSize = 64 << 10

        private let body: OutgoingBody
        private let output: OutputStream
        /// Bytes that were read from the body and did not fit into the pair.
        private var unwritten: ArraySlice<UInt8> = []
        /// Keeps this object alive until the output is closed, because streams do not retain their delegates.
        private var itself: BoundBody?

        init(_ body: OutgoingBody, _ output: OutputStream) {
            self.body = body
            self.output = output
        }

        func start() {
            body.whenReady { [weak self] in
                guard let self else { return }
                StreamThread.shared.perform { self.write() }
            }
            StreamThread.shared.perform { [self] in
                itself = self
                output.delegate = self
                output.schedule(in: .current, forMode: .default)
                output.open()
            }
        }

        func stream(_ stream: Stream, handle event: Stream.Event) {
            switch event {
            case .hasSpaceAvailable: write()
            case .errorOccurred, .endEncountered: close()
            default: break
            }
        }

        private func write() {
            guard itself != nil else { return }
            if body.isClosed { return park() }
            while output.hasSpaceAvailable {
                if unwritten.isEmpty, !readMore() { return }
                let count = unwritten.withUnsafeBufferPointer { bytes in
                    bytes.baseAddress.map { output.write($0, maxLength: bytes.count) } ?? 0
                }
                guard count > 0 else { return close() }
                unwritten = unwritten.dropFirst(count)
            }
        }

        /// Returns whether there are bytes to write now.
        private func readMore() -> Bool {
            var buffer = [UInt8](repeating: 0, count: Self.bufferSize)
            switch buffer.withUnsafeMutableBytes({ body.read(into: $0) }) {
            case .count(let count): unwritten = buffer[..<count]
            case .pending: return false
            case .end:
                close()
                return false
            case .failed:
                park()
                return false
            }
            return true
        }

        /// Stops writing without an end of the stream, which the peer would take for the end of a complete body. The
        /// stream stays open until the platform's task has ended.
        private func park() {
            output.delegate = nil
            output.remove(from: .current, forMode: .default)
            body.keepUntilGone(self)
            itself = nil
        }

        private func close() {
            guard itself != nil else { return }
            output.delegate = nil
            output.remove(from: .current, forMode: .default)
            output.close()
            itself = nil
        }
    }

    /// The thread of the process whose run loop writes streamed bodies. It never ends.
    private final class StreamThread: Sendable {
        static let shared = StreamThread()

        private struct State {
            var isStarted = false
            var runLoop: CFRunLoop?
            var work: [@Sendable () -> Void] = []
        }

        private let box = Protected(State())

        /// Runs the closure on the thread.
        func perform(_ work: @escaping @Sendable () -> Void) {
            let (starts, runLoop) = box.withLock { state in
                state.work.append(work)
                return (state.isStarted.setOnce(), state.runLoop)
            }
            if starts { start() }
            if let runLoop { schedule(on: runLoop) }
        }

        private func schedule(on runLoop: CFRunLoop) {
            RunLoop.perform(on: runLoop) { [self] in runWork() }
        }

        private func runWork() {
            let work = box.withLock { state in
                defer { state.work = [] }
                return state.work
            }
            for work in work { work() }
        }

        private func start() {
            let thread = Thread { [self] in
                // Without a source, the run loop would end at once.
                let port = Port()
                RunLoop.current.add(port, forMode: .default)
                box.withLock { $0.runLoop = CFRunLoopGetCurrent() }
                runWork()
                while true { _ = RunLoop.current.run(mode: .default, before: .distantFuture) }
            }
            thread.name = "Larkspur bodies"
            thread.start()
        }
    }

    extension RunLoop {
        fileprivate static func perform(on runLoop: CFRunLoop, _ work: @escaping @Sendable () -> Void) {
            CFRunLoopPerformBlock(runLoop, CFRunLoopMode.defaultMode.rawValue, work)
            CFRunLoopWakeUp(runLoop)
        }
    }
#endif
