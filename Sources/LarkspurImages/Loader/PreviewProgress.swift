import Larkspur

/// The part of a file that has arrived, and when it is worth another preview. It does no I/O.
///
/// A body of known length is worth a preview at each eighth, another one at each doubling. So all previews together
/// cost a small multiple of one decoding. The complete file needs no preview: the image itself follows.
struct PreviewProgress {
    /// The minimum growth in bytes from one preview to the next.
    static let minimumStep = 8 << 10

    private enum Phase {
        /// No response has begun whose body is previewed.
        case idle
        /// The body arrives. The length is nil if it is unknown.
        case receiving(length: Int?)
        /// The load has ended, or no preview is possible.
        case over
    }

    private var phase = Phase.idle
    private var data = Data()
    private var isDecoding = false
    /// The number of bytes of the next preview; nil until a body begins. A repeated request does not lower it.
    private var threshold: Int?

    /// Begins a hop, whose response replaces that of the hop before.
    mutating func begin() {
        if case .over = phase { return }
        phase = .idle
        data = Data()
    }

    /// Takes the head of a response.
    mutating func receive(_ head: ResponseHead) {
        // A coded body would have to be decoded first. Images are compressed already, so servers do not code them.
        guard case .idle = phase, head.status == 200,
            head.bodyIsDecoded || head["Content-Encoding"].map({ $0 == "identity" }) ?? true
        else { return }
        let length = head.bodyIsDecoded ? nil : head.contentLength.flatMap { Int(exactly: $0) }
        phase = .receiving(length: length)
        threshold = threshold ?? Self.step(at: 0, of: length)
    }

    /// Takes the outcome of the HTTP cache. A stored file arrives at once, and previews would only delay the image.
    mutating func receive(_ outcome: CacheOutcome) {
        switch outcome {
        case .hit, .revalidated, .stale: stop()
        default: break
        }
    }

    /// Takes a part of the body.
    ///
    /// - Returns: The bytes to decode a preview from; nil for none. Call ``decoded(isLast:)`` afterwards.
    mutating func receive(_ part: BodyPart) -> Data? {
        guard case .receiving = phase, part.message == .response else { return nil }
        // A gap: the bytes arrive faster than they are taken.
        guard part.offset == UInt64(data.count) else {
            stop()
            return nil
        }
        data.append(part.bytes)
        return next()
    }

    /// Ends a decoding.
    ///
    /// - Parameter isLast: Whether no further preview is possible.
    /// - Returns: The bytes of the next preview, if enough have arrived meanwhile.
    mutating func decoded(isLast: Bool) -> Data? {
        isDecoding = false
        if isLast { stop() }
        return next()
    }

    /// Ends the previews and releases the bytes.
    mutating func stop() {
        phase = .over
        data = Data()
    }

    private mutating func next() -> Data? {
        guard case .receiving(let length) = phase, !isDecoding, let threshold, data.count >= threshold,
            data.count < length ?? .max
        else { return nil }
        isDecoding = true
        self.threshold = data.count + Self.step(at: data.count, of: length)
        return data
    }

    private static func step(at count: Int, of length: Int?) -> Int {
        max(minimumStep, length.map { $0 / 8 } ?? count)
    }
}
