import Foundation
import Larkspur
import LarkspurTesting

/// Makes the session for a command line.
struct SessionMaker {
    let settings: Settings
    let plan: RequestPlan
    var jar = CookieJar()
    var monitors: [any EventMonitor] = []

    /// The statuses and methods of requests that are sent again.
    var retryPolicy: RetryPolicy { RetryPolicy(limit: settings.retries) }

    func session() throws -> Session {
        // A stub sends nothing. All other steps are those of a real request, so what is printed is what would be sent.
        let isOffline = settings.isOffline || settings.printsCommand
        return Session(
            configuration: try configuration(),
            transport: isOffline ? StubTransport { _ in .response() } : try transport())
    }

    /// Whether a response is not shown, because the request will be sent again.
    func willRetry(_ status: Int, after retries: Int) -> Bool {
        let policy = retryPolicy
        return retries < policy.limit && policy.statuses.contains(status) && policy.methods.contains(plan.method)
    }

    #if os(Linux)
        private func transport() throws -> any Transport {
            var configuration = CurlTransport.Configuration()
            configuration.proxies = try proxies()
            configuration.identity = try identity()
            configuration.maximumConnectionsPerHost = max(
                configuration.maximumConnectionsPerHost, settings.concurrency)
            if settings.verify != "yes", !settings.trustsAnyServer {
                guard FileManager.default.isReadableFile(atPath: settings.verify) else {
                    throw UsageError("--verify: the file “\(settings.verify)” cannot be read; use no, or a PEM file")
                }
                configuration.certificateAuthorities = .file(path: settings.verify)
            }
            return CurlTransport(configuration: configuration)
        }

        private func proxies() throws -> Proxies {
            var proxies = try Proxies.environment()
            for text in settings.proxies {
                if text.hasPrefix("http:"), !text.hasPrefix("http://") {
                    proxies.http = try Proxy(String(text.dropFirst(5)))
                } else if text.hasPrefix("https:"), !text.hasPrefix("https://") {
                    proxies.https = try Proxy(String(text.dropFirst(6)))
                } else {
                    proxies = try Proxies(try Proxy(text))
                }
            }
            return proxies
        }
    #else
        private func transport() throws -> any Transport {
            var options = URLSessionTransport.Options()
            options.identity = try identity()
            guard settings.proxies.isEmpty, settings.verify == "yes" || settings.trustsAnyServer else {
                throw UsageError(
                    "--proxy and --verify CA need Linux; this system's settings have proxies and authorities")
            }
            return URLSessionTransport(options: options)
        }
    #endif

    private func identity() throws -> ClientIdentity? {
        guard let path = settings.certificate else { return nil }
        func bytes(_ path: String) throws -> [UInt8] {
            guard let data = FileManager.default.contents(atPath: path) else {
                throw UsageError("the file “\(path)” cannot be read; --cert and --key need PEM files")
            }
            return Array(data)
        }
        return ClientIdentity(
            certificateChain: try bytes(path), privateKey: try bytes(settings.key ?? path),
            password: settings.keyPassword)
    }
}

extension Settings {
    var trustsAnyServer: Bool { ["no", "false", "off"].contains(verify.lowercased()) }
}

extension SessionMaker {
    private func configuration() throws -> SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.headers = ["User-Agent": "lark/\(LarkspurInfo.version)", "Accept": "*/*"]
        configuration.headers.add(.defaultAcceptEncoding)
        for name in plan.removed { configuration.headers.remove(name: name) }
        configuration.cookieJar = jar
        configuration.eventMonitors = monitors
        configuration.options.redirects = settings.follows ? .follow(limit: settings.maximumRedirects) : .deliver
        configuration.options.httpVersion = settings.httpVersion
        configuration.options.allowsBodyInGET = true
        configuration.options.timeouts.total = settings.timeout
        if settings.compresses { configuration.interceptors.append(RequestCompressor()) }
        if settings.trustsAnyServer { configuration.serverTrust = ServerTrustManager(evaluators: ["*": .disabled]) }
        if let folder = settings.cacheFolder { configuration.cache = .onDisk(at: URL(fileURLWithPath: folder)) }
        addRetries(to: &configuration)
        try addCredentials(to: &configuration)
        return configuration
    }

    private func addRetries(to configuration: inout SessionConfiguration) {
        let (policy, method) = (retryPolicy, plan.method)
        guard policy.limit > 0 else { return }
        configuration.retryBudget = nil
        configuration.interceptors.append(policy)
        // A status is an error for the retrier as long as another attempt may follow. The last response is shown.
        configuration.validation = [
            ResponseValidator { exchange in
                guard let status = exchange.head?.status, policy.statuses.contains(status) else { return }
                guard exchange.attempts <= policy.limit, policy.methods.contains(method) else { return }
                throw RequestError(.unacceptableStatus, "the status is \(status)")
            }
        ]
    }

    private func addCredentials(to configuration: inout SessionConfiguration) throws {
        guard let text = settings.authentication else { return }
        if settings.authenticationKind == .bearer {
            // A secret field stays with the origin: a redirect to another server does not have it.
            configuration.headers.add(HTTPHeader(name: "Authorization", value: "Bearer \(text)", isSecret: true))
            return
        }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let credential = Credential(username: parts[0], password: parts.count == 2 ? parts[1] : "")
        let store = CredentialStore()
        // A WebSocket begins as an HTTP request to the same origin.
        let origin = plan.isWebSocket ? "http" + plan.url.text.dropFirst(2) : plan.url.text
        try store.set(credential, for: origin, preemptively: settings.authenticationKind == .basic)
        configuration.credentials = store
    }
}
