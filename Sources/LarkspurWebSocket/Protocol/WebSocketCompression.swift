internal import CLarkspur

/// The compression of a WebSocket's messages (permessage-deflate, RFC 7692).
///
/// With the largest windows, a compressor takes about 256 KiB of memory and a decompressor about 60 KiB, each from its
/// first use on.
public struct WebSocketCompression: Sendable, Hashable {
    /// The window of the client's compressor, as a power of two from 9 to 15; 15 by default. A smaller window needs
    /// less memory and compresses less.
    public var clientMaxWindowBits = 15
    /// The window of the server's compressor to ask for, from 8 to 15; nil by default, so that the server chooses.
    public var serverMaxWindowBits: Int?
    /// Whether the client compresses a message with knowledge of its earlier messages; true by default. If false, the
    /// compressor's memory is released after each message.
    public var clientContextTakeover = true
    /// Whether the server may compress a message with knowledge of its earlier messages; true by default. If false,
    /// the decompressor's memory is released after each message.
    public var serverContextTakeover = true
    /// The effort of the compressor, from 0 for none to 9 for the smallest messages; 6 by default.
    public var level = 6
    /// The number of bytes from which messages are compressed; 128 by default.
    public var minimumSize = 128

    /// Compression with default settings.
    public static let deflate = WebSocketCompression()

    /// Creates settings with default values, which the closure can change.
    public init(_ configure: (inout WebSocketCompression) -> Void = { _ in }) { configure(&self) }

    /// Whether zlib is installed.
    static var isAvailable: Bool { clarkspur_zlib_message_encoder() != nil }
}

/// The parameters of compression that both sides have agreed on.
package struct WebSocketDeflateParameters: Sendable, Hashable {
    package var clientWindowBits = 15
    package var serverWindowBits = 15
    package var clientTakesOver = true
    package var serverTakesOver = true
    package var level = 6
    package var minimumSize = 0

    package init() {}

    func windowBits(of role: WebSocketRole) -> Int { role == .client ? clientWindowBits : serverWindowBits }
    func takesOver(_ role: WebSocketRole) -> Bool { role == .client ? clientTakesOver : serverTakesOver }
}

/// The compressor of one side's messages.
final class WebSocketDeflater {
    private let windowBits: Int
    private let takesOver: Bool
    private let level: Int
    private let minimumSize: Int
    private var coder: Coder?

    /// - Parameter role: The side whose messages are compressed. Nil if zlib does not support the agreed window.
    init?(_ parameters: WebSocketDeflateParameters, _ role: WebSocketRole) {
        windowBits = parameters.windowBits(of: role)
        takesOver = parameters.takesOver(role)
        level = min(9, max(0, parameters.level))
        minimumSize = max(1, parameters.minimumSize)
        guard windowBits >= 9 else { return nil }  // messages may be sent without compression
    }

    func compresses(_ size: Int) -> Bool { size >= minimumSize }

    func compress(_ bytes: UnsafeRawBufferPointer, into queue: inout ByteQueue) throws(RequestError) {
        if coder == nil { coder = open() }
        guard let coder else { throw RequestError(.unsupportedCoding, "there is no memory to compress a message") }
        var rest = bytes
        while true {
            let room = max(256, rest.count / 2)
            let output = UnsafeMutableRawBufferPointer(start: queue.reserve(room), count: room)
            let (count, state) = coder.run(&rest, into: output, isLast: true)
            queue.commit(count)
            if case .failed(let problem) = state {
                throw RequestError(.encodingFailed, "the message cannot be compressed: \(problem)")
            }
            if count < room, rest.isEmpty { break }
        }
        queue.removeLast(WebSocketInflater.tail.count)  // RFC 7692, section 7.2.1
        if !takesOver { self.coder = nil }
    }

    private func open() -> Coder? {
        // A smaller window needs less of the other memory, too: zlib's default 8 for the largest window.
        let memoryLevel = windowBits - 7
        return clarkspur_zlib_message_encoder().flatMap {
            Coder(
                $0.pointee,
                opened: clarkspur_zlib_open_message_encoder(Int32(-windowBits), Int32(level), Int32(memoryLevel)))
        }
    }
}

/// The decompressor of the peer's messages.
final class WebSocketInflater {
    enum Result { case done, tooBig, failed(String) }

    /// The bytes that the sender leaves out at the end of each message (RFC 7692, section 7.2.2).
    static let tail = Data([0x00, 0x00, 0xFF, 0xFF])

    /// The sizes of the memory for output: of the first piece of a message, and of further pieces.
    ///
    /// Large pieces are faster: zlib finds earlier bytes in the output itself, not in a copy of it.
    private static let pieceSizes = (first: 16 * 1_024, other: 128 * 1_024)

    private let windowBits: Int
    private let takesOver: Bool
    private var coder: Coder?
    private var output = UnsafeMutableRawBufferPointer(start: nil, count: 0)

    /// - Parameter role: The side that receives the messages.
    init(_ parameters: WebSocketDeflateParameters, _ role: WebSocketRole) {
        let peer: WebSocketRole = role == .client ? .server : .client
        // zlib can compress with a window of 256 bytes only in its own format, and then uses 512 bytes.
        windowBits = max(9, parameters.windowBits(of: peer))
        takesOver = parameters.takesOver(peer)
    }

    /// Decompresses bytes of a message, and appends them to its content. It stops as soon as the content exceeds the
    /// limit.
    func inflate(
        _ bytes: UnsafeRawBufferPointer, into content: inout Data, upTo limit: Int, isLast: Bool = false
    ) -> Result {
        if coder == nil { coder = clarkspur_zlib_message_decoder().flatMap { Coder($0.pointee, format: -windowBits) } }
        guard let coder else { return .failed("there is no memory for it") }
        if output.count == 0 { setOutputSize(Self.pieceSizes.first) }
        var rest = bytes
        while true {
            // One byte more than the limit allows shows that the message is too large.
            let room = min(output.count, max(1, limit - content.count + (limit == .max ? 0 : 1)))
            let piece = UnsafeMutableRawBufferPointer(rebasing: output.prefix(room))
            let (count, state) = coder.run(&rest, into: piece, isLast: isLast)
            if count > 0 { content.append(contentsOf: UnsafeRawBufferPointer(rebasing: piece.prefix(count))) }
            guard content.count <= limit else { return .tooBig }
            if case .failed(let problem) = state { return .failed(problem) }
            if rest.isEmpty, count < piece.count { return .done }
            if count == output.count { setOutputSize(Self.pieceSizes.other) }
        }
    }

    private func setOutputSize(_ size: Int) {
        guard output.count != size else { return }
        output.deallocate()
        output = size == 0 ? .init(start: nil, count: 0) : .allocate(byteCount: size, alignment: 16)
    }

    func endMessage() {
        if takesOver {
            setOutputSize(Self.pieceSizes.first)
        } else {
            coder = nil
            setOutputSize(0)
        }
    }

    deinit { output.deallocate() }
}
