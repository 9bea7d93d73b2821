import Larkspur

/// One process's wait for a new token: it uses the result of another process, or refreshes the token under the lease.
struct SharedRefresh: Sendable {
    let tokens: SharedTokens
    let old: BearerToken
    let authenticator: any Authenticator<BearerToken>
    let session: Session

    private var store: any SharedStore { tokens.store }

    func result() async throws -> BearerToken {
        // A failure from before is not the answer to this wait.
        let knownFailure = try await tokens.read()?.record.failure?.number
        for await _ in wakeups() {
            if let token = try outcome(of: try await tokens.read()?.record, knownFailure) { return token }
            // It begins before the lease, because the process can be stopped before it learns of the lease.
            let watch = StopWatch(tokens.clock)
            guard let lease = try await store.takeLease(tokens.name, for: tokens.lease) else { continue }
            // In an unstructured task, because a refresh that has begun must not be cancelled with its requests.
            let work = Task { try await refreshed(under: lease, watch, knownFailure) }
            if let token = try await work.value { return token }
            // The stored token has changed, so the next element comes at once. If the store's fencing numbers have gone
            // back, it comes later, so that the process does not ask the store without a pause.
        }
        throw CancellationError()
    }

    /// Returns a sequence with an element at once, after each change of the stored token, and from time to time: the
    /// end of a lease is no change.
    private func wakeups() -> AsyncStream<Void> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { [tokens] continuation in
            let changes = Task { for await _ in tokens.store.changes(of: tokens.name) { continuation.yield() } }
            let interval = min(tokens.lease / 8, .milliseconds(500))
            let ticks = Task {
                while (try? await tokens.clock.sleep(for: interval)) != nil { continuation.yield() }
            }
            continuation.onTermination = { _ in
                changes.cancel()
                ticks.cancel()
            }
        }
    }

    // MARK: The stored token

    /// Returns the token that another process has stored; nil if a refresh is needed, or is in flight.
    private func outcome(of record: TokenRecord?, _ knownFailure: UInt64?) throws -> BearerToken? {
        guard let record else { return nil }
        guard let token = record.token else { throw AuthenticationError.missingCredential }
        if let failure = record.failure, failure.number != knownFailure {
            throw AuthenticationError(
                AuthenticationError.Code(rawValue: failure.code),
                "another process could not refresh the credential: \(failure.message)")
        }
        guard let intent = record.intent else {
            return token != old && !authenticator.requiresRefresh(token) ? token : nil
        }
        if intent.isAbandoned { try checkReuse(of: token, after: intent) }
        return nil
    }

    /// Throws if the token's refresh token must not be sent again after a refresh with an unknown outcome.
    private func checkReuse(of token: BearerToken, after intent: TokenRecord.Intent?) throws {
        guard let intent, token.refreshToken != nil, tokens.unknownOutcome == .fail || intent.isReuse else { return }
        throw Self.unknownOutcome(
            intent == .afterLoss
                ? "the store has lost the credential, and another process may have used up the refresh token"
                : "a refresh of the credential was interrupted, in another process or at an earlier time")
    }

    private static func unknownOutcome(_ problem: String, because error: (any Error)? = nil) -> AuthenticationError {
        AuthenticationError(
            .refreshOutcomeUnknown,
            "\(problem); the server may not accept the refresh token again, so save a new token after a login",
            underlying: error)
    }

    // MARK: Refreshing

    /// Refreshes the token, and stores the new one. Returns nil if the stored token has changed meanwhile.
    private func refreshed(
        under lease: StoreLease, _ watch: StopWatch, _ knownFailure: UInt64?
    ) async throws -> BearerToken? {
        do {
            let token = try await tokenOfHolder(lease, watch, knownFailure)
            try? await store.release(lease)
            return token
        } catch {
            try? await store.release(lease)
            throw error
        }
    }

    private func tokenOfHolder(
        _ lease: StoreLease, _ watch: StopWatch, _ knownFailure: UInt64?
    ) async throws -> BearerToken? {
        let stored = try await tokens.read()
        if let token = try outcome(of: stored?.record, knownFailure) { return token }
        let base = stored?.record.token ?? old
        let earlier = stored.map(\.record.intent) ?? .afterLoss
        try checkReuse(of: base, after: earlier)
        // The note is in the store before the request is sent, so that the next holder of the lease knows of it.
        let intent = TokenRecord.Intent(number: lease.number, isReuse: earlier != nil)
        let begun = TokenRecord(token: base, intent: intent)
        guard let version = try await tokens.write(begun, over: stored?.version, under: lease) else { return nil }
        // A process that was stopped here must not send a refresh token that another process has used meanwhile.
        guard watch.elapsed < tokens.lease else {
            _ = try await tokens.write(TokenRecord(token: base, intent: earlier), over: version, under: lease)
            return nil
        }
        let new: BearerToken
        do { new = try await performed(base, under: lease) } catch {
            throw await noted(error, of: TokenRecord(token: base, intent: intent), over: version, under: lease)
        }
        return await isReplaced(by: new, over: version, under: lease) ? nil : new
    }

    /// Notes the error of a refresh in the store, for the processes that wait. Returns the error for this process.
    private func noted(
        _ error: any Error, of begun: TokenRecord, over version: StoreVersion, under lease: StoreLease
    ) async -> any Error {
        var record = begun
        let isKnown = begun.token?.refreshToken == nil || RefreshOutcome.isKnown(after: error)
        if isKnown {
            let code = (error as? AuthenticationError)?.code ?? .refreshFailed
            record.intent = nil
            record.failure = TokenRecord.Failure(number: lease.number, code: code.rawValue, message: "\(error)")
        } else {
            record.intent?.isAbandoned = true
        }
        // If the store fails too, the intent stays there, and other processes find the outcome unknown.
        _ = try? await tokens.write(record, over: version, under: lease)
        return isKnown
            ? error : Self.unknownOutcome("the refresh of the credential was interrupted: \(error)", because: error)
    }

    /// Refreshes the token, and renews the lease meanwhile.
    private func performed(_ base: BearerToken, under lease: StoreLease) async throws -> BearerToken {
        let work = Task { try await authenticator.refresh(base, for: session) }
        let watch = StopWatch(tokens.clock)
        let renewal = Task { [tokens] in
            while watch.elapsed < tokens.timeout {
                let pause = min(tokens.lease / 3, tokens.timeout - watch.elapsed)
                guard (try? await tokens.clock.sleep(for: pause)) != nil else { return }
                // If another process has the lease, or the store fails, the result decides.
                _ = try? await tokens.store.renew(lease, for: tokens.lease)
            }
            work.cancel()
        }
        defer { renewal.cancel() }
        return try await work.value
    }

    /// Stores the new token. Returns whether another process has stored one meanwhile. If the store fails, tries again
    /// for the duration of a lease. After that this process alone has the new token.
    private func isReplaced(
        by new: BearerToken, over version: StoreVersion, under lease: StoreLease
    ) async -> Bool {
        let watch = StopWatch(tokens.clock)
        while true {
            do {
                return try await tokens.write(TokenRecord(token: new), over: version, under: lease) == nil
            } catch {
                guard watch.elapsed < tokens.lease else { return false }
                guard (try? await tokens.clock.sleep(for: tokens.lease / 8)) != nil else { return false }
            }
        }
    }
}

/// The time since the creation of the value.
struct StopWatch: Sendable {
    private let read: @Sendable () -> Duration

    init(_ clock: any Clock<Duration>) { read = Self.reading(clock) }

    var elapsed: Duration { read() }

    private static func reading<C: Clock<Duration>>(_ clock: C) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }
}

/// Tells from the error of a refresh whether the server may have seen the refresh token without an answer.
enum RefreshOutcome {
    /// The errors of requests that end before the request is sent.
    private static let unsent: Set<RequestError.Code> = [
        .nameLookup, .connectionRefused, .unreachable, .tooManyOpenFiles, .proxyFailed,
        .proxyUnauthorized, .handshake, .tlsVersion, .notTLS, .invalidIdentity, .untrusted, .certificateExpired,
        .certificateNotYetValid, .unknownIssuer, .selfSigned, .certificateRevoked, .certificateStatusUnknown,
        .weakCertificateKey, .weakCertificateDigest, .pinMismatch, .wrongHost, .overloaded, .rateLimited,
        .invalidLimit, .bodyNotReplayable,
    ]

    /// Returns whether the server has answered, or has certainly not seen the request. Errors of other types come from
    /// code that has read an answer, or has not asked.
    static func isKnown(after error: any Error) -> Bool {
        switch error {
        case is CancellationError: false
        case let error as AuthenticationError: error.underlying.map(isKnown) ?? (error.code != .unusableToken)
        case let error as RequestError: isKnown(after: error)
        default: true
        }
    }

    private static func isKnown(after error: RequestError) -> Bool {
        switch error.stage {
        case .building, .adapting: error.attempts <= 1
        // A gateway that has lost its server knows nothing of the outcome.
        case .validating: error.statusCode != 502 && error.statusCode != 504
        // The server has accepted the refresh token, but the new token cannot be read.
        case .serializing: error.statusCode.map { !(200..<300).contains($0) } ?? true
        case .sending: error.attempts <= 1 && unsent.contains(error.code)
        default: error.stage == nil && !error.isCancelled
        }
    }
}
