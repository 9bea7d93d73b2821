/// A hash algorithm for the checksum of a file, and for the fields `Content-Digest` and `Repr-Digest` (RFC 9530).
public enum DigestAlgorithm: String, Sendable, CaseIterable {
    /// SHA-256.
    case sha256 = "sha-256"
    /// SHA-512.
    case sha512 = "sha-512"

    package var hash: StreamingHash.Algorithm { self == .sha256 ? .sha256 : .sha512 }

    func makeHash() -> StreamingHash { StreamingHash(hash) }

    package func digest(of bytes: Data) -> Data {
        var hash = makeHash()
        bytes.withUnsafeBytes { hash.update($0) }
        return Data(hash.finalize())
    }

    /// Returns the field's value for a digest: `sha-256=:…:`.
    package func value(of digest: [UInt8]) -> String { "\(rawValue)=:\(Data(digest).base64EncodedString()):" }
}

extension TransportBody {
    /// Returns the body followed by a `Content-Digest` field with the hash of its bytes (RFC 9530). The hash is
    /// computed while the body is sent, and computed again if the body is sent again.
    ///
    ///     let upload = await session.upload(.sequence { lines() }.contentDigest(), to: url)
    ///
    /// The field is a trailer, so the rules of ``trailers(_:make:)`` apply.
    public func contentDigest(_ algorithm: DigestAlgorithm = .sha256) -> TransportBody {
        .stream(
            TransportBodySource(
                length: nil, isReplayable: isReplayable, trailerNames: trailerNames(and: ["Content-Digest"])
            ) {
                DigestingBodyStream(open(), algorithm)
            })
    }
}

/// A stream that hashes the bytes of another stream.
private final class DigestingBodyStream: TransportBodyStream {
    private struct State: ~Copyable {
        var hash: StreamingHash?
        var trailers: [HTTPHeader] = []
    }

    private let base: any TransportBodyStream
    private let algorithm: DigestAlgorithm
    private let box: Protected<State>

    init(_ base: any TransportBodyStream, _ algorithm: DigestAlgorithm) {
        (self.base, self.algorithm) = (base, algorithm)
        box = Protected(State(hash: algorithm.makeHash()))
    }

    var trailers: [HTTPHeader] { box.withLock { $0.trailers } }

    func begin(wake: @escaping @Sendable () -> Void) { base.begin(wake: wake) }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> TransportBodyRead {
        let read = base.read(into: buffer)
        switch read {
        case .bytes(let count) where (1...buffer.count).contains(count):
            // A number, because the compiler does not let a pointer of the caller into the locked section.
            let address = UInt(bitPattern: buffer.baseAddress)
            box.withLock { state in
                let bytes = UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: address), count: count)
                state.hash?.update(bytes)
            }
        case .end:
            let own = base.trailers
            box.withLock { state in
                guard let digest = state.hash.take()?.finalize() else { return }
                let field = HTTPHeader(name: "Content-Digest", value: algorithm.value(of: digest))
                state.trailers = own + [field]
            }
        case .bytes, .pending, .failed: break
        }
        return read
    }

    func end() { base.end() }
}
