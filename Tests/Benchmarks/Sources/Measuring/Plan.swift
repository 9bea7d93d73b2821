/// The requests of a run, from the command line. Every subject has the same options.
public struct Plan: Sendable {
    public let url: String
    /// The number of requests; 0 means as many as can be started within `seconds`.
    public var count = 0
    public var seconds = 3.0
    public var concurrency = 1
    public var certificateAuthorities: String?
    public var upload: String?
    /// Whether the response's body is discarded as it arrives instead of being kept as a whole.
    public var streams = false
    /// The file to which the response's body is written; an existing file is replaced.
    public var download: String?
    public var reading = Reading.data
    /// Whether requests have only the fields that the loop in C sends, without the framework's own fields.
    public var isBare = false
    /// The maximum number of connections of the library, and the number of its loops; nil means its default.
    public var connections: Int?
    public var loops: Int?

    /// How the response's body is used.
    public enum Reading: String, Sendable {
        case data, decoded, json
    }

    public static let options =
        "[--count N | --seconds S] [--concurrency N] [--ca FILE] [--upload FILE] [--stream] [--download FILE]"
        + " [--as data|decoded|json] [--bare] [--connections N] [--loops N]"

    /// Whether a request takes so long that the warm-up is skipped.
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
            case "--connections": connections = Int(value)
            case "--loops": loops = Int(value)
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
