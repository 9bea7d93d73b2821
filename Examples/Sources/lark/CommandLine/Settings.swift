import Larkspur

/// Everything that a command line says. Parsing fills it, and performs no I/O.
struct Settings {
    enum Command: Equatable {
        case exchange
        case help(topic: String?)
        case version
        case waterfall(archive: String, page: String?)
    }

    enum BodyKind { case json, form, multipart }
    enum AuthenticationKind: String { case basic, digest, bearer }
    enum Pretty: String { case all, colors, format, none }
    enum Folding: Equatable { case toScreen, below(depth: Int) }

    var command = Command.exchange

    // The request
    var method: HTTPMethod?
    var url = ""
    var items: [Item] = []
    var defaultScheme: String?
    var bodyKind: BodyKind?
    var rawBody: String?
    var ignoresInput = false
    var isChunked = false
    var compresses = false

    // The exchange
    var follows = false
    var showsAll = false
    var maximumRedirects = 30
    var timeout: Duration?
    var retries = 0
    var httpVersion: HTTPVersionChoice?
    var cacheFolder: String?
    var checksStatus = false

    // Identity and connections
    var authentication: String?
    var authenticationKind = AuthenticationKind.basic
    var verify = "yes"
    var certificate: String?
    var key: String?
    var keyPassword = ""
    var proxies: [String] = []
    var session: String?
    var sessionIsReadOnly = false

    // The output
    var printed: Set<Character>?
    var pretty: Pretty?
    var folding: Folding?
    var streams = false
    var output: String?
    var isOffline = false
    var printsCommand = false
    var showsSecrets = false

    // Downloads
    var downloads = false
    var continues = false

    // Measurements
    var repetitions: Int?
    var concurrency = 1
    var archive: String?
    var waterfall: String?
}

/// A mistake in the command line. The message says what to do.
struct UsageError: Error {
    let message: String

    init(_ message: String) { self.message = message }
}
