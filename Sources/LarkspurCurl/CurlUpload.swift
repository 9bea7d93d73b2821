import LarkspurTransport

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The body of a request while libcurl pulls it.
final class CurlUpload {
    enum Read {
        case bytes(Int)
        /// The stream has nothing yet, and will wake the transfer.
        case pending
        case failed(TransportError)
    }

    private enum Source {
        case data(Data)
        case file(path: String, descriptor: Int32?)
        case stream(any TransportBodyStream)
    }

    private let body: TransportBody
    private let wake: @Sendable () -> Void
    private var source: Source
    /// How many bytes libcurl has taken since the body was begun.
    private(set) var position: UInt64 = 0

    init(_ body: TransportBody, wake: @escaping @Sendable () -> Void) {
        self.body = body
        self.wake = wake
        switch body {
        case .none: source = .data(Data())
        case .data(let data): source = .data(data)
        case .file(let path, _): source = .file(path: path, descriptor: nil)
        case .stream(let stream):
            let opened = stream.open()
            source = .stream(opened)
            opened.begin(wake: wake)
        }
    }

    var isOver: Bool { body.length.map { position >= $0 } ?? hasEnded }
    private var hasEnded = false

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Read {
        let left = body.length.map { Int(clamping: $0 - position) } ?? .max
        let buffer = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(left))
        let result =
            switch source {
            case .data(let data): Read.bytes(copy(data, to: buffer))
            case .file(let path, let descriptor): readFile(path, descriptor, into: buffer)
            case .stream(let stream): readStream(stream, into: buffer)
            }
        guard case .bytes(let count) = result else { return result }
        position += UInt64(count)
        if count == 0 {
            hasEnded = true
            if let length = body.length, position < length {
                return .failed(
                    TransportError(.bodyFailed, "the body ended after \(position) of \(length) bytes", phase: .sending))
            }
        }
        return result
    }

    private func copy(_ data: Data, to buffer: UnsafeMutableRawBufferPointer) -> Int {
        let start = data.startIndex + Int(position)
        return data[start..<min(start + buffer.count, data.endIndex)].copyBytes(to: buffer)
    }

    private func readFile(_ path: String, _ descriptor: Int32?, into buffer: UnsafeMutableRawBufferPointer) -> Read {
        let descriptor = descriptor ?? open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return .failed(Self.failure("opened", path)) }
        source = .file(path: path, descriptor: descriptor)
        var status = stat()
        if position == 0, fstat(descriptor, &status) == 0, let length = body.length, status.st_size > length {
            return .failed(
                TransportError(
                    .bodyFailed, "the file \(path) has \(status.st_size) bytes and should have \(length)",
                    phase: .sending))
        }
        while true {
            let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(position))
            if count >= 0 { return .bytes(count) }
            guard errno == EINTR else { return .failed(Self.failure("read", path)) }
        }
    }

    private static func failure(_ verb: String, _ path: String) -> TransportError {
        let reason = String(cString: strerror(errno))
        return TransportError(.bodyFailed, "the file \(path) cannot be \(verb): \(reason)", phase: .sending)
    }

    private func readStream(_ stream: any TransportBodyStream, into buffer: UnsafeMutableRawBufferPointer) -> Read {
        if buffer.isEmpty { return .bytes(0) }
        switch stream.read(into: buffer) {
        case .bytes(let count) where (1...buffer.count).contains(count): return .bytes(count)
        case .bytes(let count):
            return .failed(
                TransportError(.bodyFailed, "the body's stream claims to have given \(count) bytes", phase: .sending))
        case .pending: return .pending
        case .end: return .bytes(0)
        case .failed(let error):
            return .failed(TransportError(.bodyFailed, "the body's stream failed", phase: .sending, underlying: error))
        }
    }

    /// Goes back to the first byte; a stream that was used is asked for anew (T20). False if it cannot be had.
    func rewind(_ ask: (TransportQuestion) -> Void) -> Bool {
        guard position > 0 || hasEnded else { return true }
        if case .stream(let stream) = source {
            let reply = TransportReply<any TransportBodyStream>()
            ask(.bodyFromStart(offset: position, reply))
            guard let fresh = reply.value else { return false }
            stream.end()
            source = .stream(fresh)
            fresh.begin(wake: wake)
        }
        position = 0
        hasEnded = false
        return true
    }

    /// Called once, when no more will be read.
    func end() {
        switch source {
        case .data: break
        case .file(_, let descriptor): _ = descriptor.map { close($0) }
        case .stream(let stream): stream.end()
        }
        source = .data(Data())
    }
}
