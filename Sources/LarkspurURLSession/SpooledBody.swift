#if !canImport(Darwin)
    /// A streamed body that is copied to a temporary file, from which `URLSession` sends it.
    ///
    /// On Linux, Foundation has no bound streams, and it treats a stream without bytes as ended. It also reads all
    /// streams of the process on one queue, so a stream that waited for bytes would delay every request of the process.
    final class SpooledBody: Sendable {
        // Immutable
        let path: String
        private let descriptor: Int32
        private let body: OutgoingBody
        private let queue = DispatchQueue(label: "Larkspur spooled body")

        /// Creates the temporary file, which only this user can read. Nil if the system cannot.
        init?(_ body: OutgoingBody) {
            var template = Array((FileManager.default.temporaryDirectory.path + "/larkspur-XXXXXX").utf8CString)
            descriptor = mkstemp(&template)
            guard descriptor >= 0 else { return nil }
            path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            self.body = body
        }

        deinit {
            close(descriptor)
            unlink(path)
        }

        /// Copies the body, and calls the closure with its length when it is complete. A body that cannot be read
        /// ends the hop itself.
        func copy(
            progress: @escaping @Sendable () -> Void, _ completed: @escaping @Sendable (UInt64) -> Void,
            _ failed: @escaping @Sendable (TransportError) -> Void
        ) {
            // The body keeps the closure, and with it this object, until the body ends.
            let next: @Sendable () -> Void = { [self] in
                queue.async { self.copyAvailable(progress, completed, failed) }
            }
            body.whenReady(next)
            next()
        }

        private func copyAvailable(
            _ progress: () -> Void, _ completed: (UInt64) -> Void, _ failed: (TransportError) -> Void
        ) {
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            while !body.hasEnded {
                switch buffer.withUnsafeMutableBytes({ body.read(into: $0) }) {
                case .pending, .failed: return
                case .end:
                    body.whenReady {}
                    return completed(body.count)
                case .count(let count):
                    guard write(buffer[..<count]) else {
                        let reason = String(cString: strerror(errno))
                        return failed(.bodyFailed("the body cannot be copied to a temporary file: \(reason)"))
                    }
                    progress()
                }
            }
        }

        private func write(_ bytes: ArraySlice<UInt8>) -> Bool {
            bytes.withUnsafeBytes { bytes in
                var done = 0
                while done < bytes.count {
                    let count = Glibc.write(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done)
                    if count < 0, errno == EINTR { continue }
                    guard count > 0 else { return false }
                    done += count
                }
                return true
            }
        }
    }
#endif
