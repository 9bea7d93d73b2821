/// What to send, from the command line: the same options for every subject.
public struct Plan: Sendable {
    public let url: String
    /// So many requests; 0 means as many as start within `seconds`.
    public var count = 0
    public var seconds = 3.0
    public var concurrency = 1
    public var certificateAuthorities: String?
    public var upload: String?
    /// Whether the response's body is dropped as it comes instead of being kept as a whole.
    public var streams = false
    /// Where the response's body is written to, in place of what is there.
    public var download: String?
    public var reading = Reading.data
    /// Whether requests have the fields of the loop in C alone, instead of those that the framework adds.
    public var isBare = false

    /// What becomes of the response's body.
    public enum Reading: String, Sendable {
        case data, decoded, json
    }

    public static let options =
        "[--count N | --seconds S] [--concurrency N] [--ca FILE] [--upload FILE] [--stream] [--download FILE]"
        + " [--as data|decoded|json] [--bare]"

    /// Whether a request takes so long that none is sent for practice.
    var isLong: Bool { streams || upload != nil || download != nil }

    public init?(_ arguments: some Collection<String>) {
        guard let url = arguments.first else { return nil }
        self.url = url
        var rest = arguments.dropFirst().makeIterator()
        while let name = rest.next() {
            if name == "--stream" {
                streams = true
                continue
            }
            if name == "--bare" {
                isBare = true
                continue
            }
            guard let value = rest.next() else { return nil }
            switch name {
            case "--count": count = Int(value) ?? 0
            case "--seconds": seconds = Double(value) ?? 3
            case "--concurrency": concurrency = Int(value) ?? 1
            case "--ca": certificateAuthorities = value
            case "--upload": upload = value
            case "--download": download = value
            case "--as":
                guard let reading = Reading(rawValue: value) else { return nil }
                self.reading = reading
            default: return nil
            }
        }
    }
}
