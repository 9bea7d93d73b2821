/// The range that a request asks for in order to resume a file.
package struct Resumption: Hashable, Sendable {
    package enum Answer: Equatable {
        /// The response contains the missing bytes.
        case rest(total: UInt64)
        /// The partial file already has all bytes.
        case nothing
        /// The response contains the whole file, or is of another kind, such as an error page.
        case all
        /// The response does not continue the partial file, so the pipeline repeats the request from byte 0.
        case unusable
    }

    package let offset: UInt64
    let validator: String
    let total: UInt64?

    package init(offset: UInt64, validator: String, total: UInt64?) {
        (self.offset, self.validator, self.total) = (offset, validator, total)
    }

    /// Returns how the response continues the partial file. The bytes of the response are joined with the partial file
    /// only if both certainly belong to the same version of the server's file.
    package func answer(in head: ResponseHead) -> Answer {
        let range = head["Content-Range"].flatMap(ContentRange.init)
        switch head.status {
        case 206:
            // Without a total length, the client cannot tell whether this part is the whole rest of the file.
            guard let range, range.first == offset, head.isPlain, isOfSameFile(head), isSame(range.total),
                let total = range.total ?? total
            else { return .unusable }
            return .rest(total: total)
        case 416:
            return range?.first == nil && range?.total == offset && isOfSameFile(head) && isSame(offset)
                ? .nothing : .unusable
        default:
            return .all
        }
    }

    /// Returns whether the response has the same validator, or has none. Some servers support `Range` but ignore
    /// `If-Range`, so the client must compare the validators, too.
    private func isOfSameFile(_ head: ResponseHead) -> Bool {
        let theirs = validator.hasPrefix("\"") ? head["ETag"] : head["Last-Modified"]
        return theirs == nil || theirs == validator
    }

    private func isSame(_ other: UInt64?) -> Bool { total == nil || other == nil || total == other }
}

extension OutgoingRequest {
    package mutating func askForRest(_ resumption: Resumption) {
        headers.update(name: "Range", value: "bytes=\(resumption.offset)-")
        headers.update(name: "If-Range", value: resumption.validator)
        options.resumption = resumption
    }

    package mutating func startOver() {
        headers.remove(name: "Range")
        headers.remove(name: "If-Range")
        options.resumption = nil
    }
}

extension ResponseHead {
    /// Whether the body's bytes are the bytes of the file, without a content coding.
    package var isPlain: Bool {
        !bodyIsDecoded && ContentCoding.names(in: values(for: "Content-Encoding")).isEmpty
    }

    /// The validator for `If-Range` (RFC 9110, section 13.1.5). A `Last-Modified` date is used only if there is no
    /// `ETag`, and if the file did not change in the second in which the response was sent.
    package var strongValidator: String? {
        if let tag = self["ETag"] { return tag.hasPrefix("\"") && tag.count > 1 && tag.hasSuffix("\"") ? tag : nil }
        guard let date = self["Last-Modified"], date != self["Date"] else { return nil }
        return date
    }
}

/// A `Content-Range` in bytes: `bytes 5-9/10`, `bytes 5-9/*`, `bytes */10`.
struct ContentRange: Equatable {
    /// The position of the first byte; nil if the server could not satisfy the requested range.
    let first: UInt64?
    let total: UInt64?

    init?(_ text: String) {
        let words = text.split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        total = Self.number(parts[1])
        guard total != nil || parts[1] == "*" else { return nil }
        if parts[0] == "*" {
            first = nil
            return
        }
        let bounds = parts[0].split(separator: "-", omittingEmptySubsequences: false).map(Self.number)
        guard bounds.count == 2, let first = bounds[0], let last = bounds[1], first <= last, last < total ?? .max
        else { return nil }
        self.first = first
    }

    /// Parses a number. Returns nil for text that is not a number. Also returns nil for `UInt64.max` and more, because
    /// no file is that long.
    private static func number(_ text: Substring) -> UInt64? {
        UInt64(digits: text.utf8).flatMap { $0 < .max ? $0 : nil }
    }
}
