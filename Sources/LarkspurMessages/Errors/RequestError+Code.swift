extension RequestError {
    /// A kind of failure; later versions may add further kinds.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        init(_ code: TransportError.Code) { self.init(rawValue: code.rawValue) }
        public var description: String { rawValue }

        // Building and adapting
        /// The text is not a valid URL for a request.
        public static let invalidURL = Code(rawValue: "invalidURL")
        /// A method or header field is not valid.
        public static let invalidRequest = Code(rawValue: "invalidRequest")
        /// A GET request has a body, which many servers and proxies drop or reject.
        public static let bodyInGETRequest = Code(rawValue: "bodyInGETRequest")
        /// The authentication scheme cannot carry the user name or password.
        public static let invalidCredential = Code(rawValue: "invalidCredential")
        /// A cookie that the program created is not valid.
        public static let invalidCookie = Code(rawValue: "invalidCookie")
        /// The parameters or the body cannot be encoded.
        public static let encodingFailed = Code(rawValue: "encodingFailed")
        /// A ``URLConvertible``, an ``OutgoingRequestConvertible`` or a modifier threw an error.
        public static let requestCreationFailed = Code(rawValue: "requestCreationFailed")
        /// An adapter threw an error.
        public static let adaptationFailed = Code(rawValue: "adaptationFailed")

        // Files to send or to write
        /// The URL is not a `file:` URL, or its path is not valid.
        public static let invalidFileURL = Code(rawValue: "invalidFileURL")
        /// The file does not exist.
        public static let fileMissing = Code(rawValue: "fileMissing")
        /// The path of the file leads to a directory.
        public static let fileIsDirectory = Code(rawValue: "fileIsDirectory")
        /// The file is a device, a pipe or a socket. Such a file cannot be uploaded, and a download does not replace
        /// it.
        public static let fileNotRegular = Code(rawValue: "fileNotRegular")
        /// The system does not allow reading the file.
        public static let fileUnreadable = Code(rawValue: "fileUnreadable")
        /// The file exists, and may not be replaced.
        public static let fileExists = Code(rawValue: "fileExists")
        /// The system does not allow writing the file.
        public static let fileUnwritable = Code(rawValue: "fileUnwritable")
        /// The disk has not enough space for the file.
        public static let diskFull = Code(rawValue: "diskFull")
        /// Another request or process is writing to the same file.
        public static let fileInUse = Code(rawValue: "fileInUse")
        /// The cookie jar's file is damaged, is of another kind, or is of a later version.
        public static let invalidCookieFile = Code(rawValue: "invalidCookieFile")
        /// The file of an ``HSTSStore`` is damaged, is of another kind, or is of a later version.
        public static let invalidHSTSFile = Code(rawValue: "invalidHSTSFile")
        /// The expected checksum of a download is not valid for its algorithm.
        public static let invalidChecksum = Code(rawValue: "invalidChecksum")
        /// The data is not a valid certificate.
        public static let invalidCertificate = Code(rawValue: "invalidCertificate")
        /// The text is not a valid pin of a public key.
        public static let invalidPin = Code(rawValue: "invalidPin")

        // Sending: each of these codes has the same raw value as a `TransportError.Code`
        /// The request was cancelled.
        public static let cancelled = Code(.cancelled)
        /// The platform has no transport, or a part of the transport is missing.
        public static let transportUnavailable = Code(.unavailable)
        /// The request may only be answered from the cache, and the cache has no response for it.
        public static let notCached = Code(.notCached)
        /// Too many requests wait for one of the session's ``RequestLimits``.
        public static let overloaded = Code(.overloaded)
        /// The session's ``RateLimiter`` could send the request only after its total timeout.
        public static let rateLimited = Code(.rateLimited)
        /// A limit of the session's configuration is not valid, such as a limit of zero requests.
        public static let invalidLimit = Code(.invalidLimit)
        /// The session, or its transport, has ended.
        public static let sessionInvalidated = Code(.invalidated)
        /// The host's name could not be resolved.
        public static let nameLookup = Code(.nameLookup)
        /// The host refused the connection, because no program listens on the port.
        public static let connectionRefused = Code(.connectionRefused)
        /// The network has no route to the host.
        public static let unreachable = Code(.unreachable)
        /// The process or the system has no file descriptor left for a connection. ``RequestError/isConnectivity`` is
        /// false for this code, because a retry fails as long as the files stay open.
        public static let tooManyOpenFiles = Code(.tooManyOpenFiles)
        /// The proxy could not be reached, or could not connect to the host.
        public static let proxyFailed = Code(.proxyFailed)
        /// The proxy requires credentials, or has rejected them.
        public static let proxyUnauthorized = Code(.proxyUnauthorized)
        /// The peer closed the connection too early.
        public static let connectionLost = Code(.connectionLost)
        /// A time limit has passed; the error's message names the limit.
        public static let timedOut = Code(.timedOut)
        /// The TLS handshake failed for another reason than the peer's certificate.
        public static let handshake = Code(.handshake)
        /// The peer supports no TLS version that the session allows.
        public static let tlsVersion = Code(.tlsVersion)
        /// The server answered the TLS handshake in plain text: the port does not use TLS.
        /// ``RequestError/isConnectivity`` is false for this code.
        public static let notTLS = Code(.notTLS)
        /// The client's certificate or key cannot be used.
        public static let invalidIdentity = Code(.invalidIdentity)
        /// The peer's certificate is not trusted, for a reason that has no code of its own below.
        public static let untrusted = Code(.untrusted)
        /// A certificate in the peer's chain has expired.
        public static let certificateExpired = Code(.certificateExpired)
        /// A certificate in the peer's chain is not valid yet.
        public static let certificateNotYetValid = Code(.certificateNotYetValid)
        /// No trusted authority has issued the peer's certificate.
        public static let unknownIssuer = Code(.unknownIssuer)
        /// The peer's certificate is self-signed.
        public static let selfSigned = Code(.selfSigned)
        /// The issuer has revoked the peer's certificate.
        public static let certificateRevoked = Code(.certificateRevoked)
        /// The session requires the revocation status of the peer's certificate, and the peer did not prove the status.
        public static let certificateStatusUnknown = Code(.certificateStatusUnknown)
        /// A public key in the peer's chain is too short for the required security level.
        public static let weakCertificateKey = Code(.weakCertificateKey)
        /// A certificate in the peer's chain is signed with a digest that is no longer secure, such as SHA-1.
        public static let weakCertificateDigest = Code(.weakCertificateDigest)
        /// No pin matches the peer's certificates.
        public static let pinMismatch = Code(.pinMismatch)
        /// The peer's certificate is for another host.
        public static let wrongHost = Code(.wrongHost)
        /// The peer violated HTTP, or uses another protocol.
        public static let protocolViolation = Code(.protocolViolation)
        /// The body ended before its declared length.
        public static let truncated = Code(.truncated)
        /// The request's body could not be read.
        public static let bodyFailed = Code(.bodyFailed)
        /// The request's body was needed again, but it can be sent only once.
        public static let bodyNotReplayable = Code(.bodyNotReplayable)

        // Receiving
        /// The body is larger than `maximumBodySize`, or exceeds `decodingLimits` when decoded.
        public static let contentTooLarge = Code(.contentTooLarge)
        /// A line, an event or a message of a stream is larger than its limit.
        public static let messageTooLarge = Code(rawValue: "messageTooLarge")
        /// A message of a stream is incomplete.
        public static let incompleteMessage = Code(rawValue: "incompleteMessage")
        /// A message of a stream violates its framing.
        public static let malformedMessage = Code(rawValue: "malformedMessage")
        /// The body's content coding is damaged, ends early or continues after its end.
        public static let undecodableContent = Code(rawValue: "undecodableContent")
        /// The body has too many content or transfer codings, or a coding that is not supported or whose library is
        /// missing.
        public static let unsupportedCoding = Code(.unsupportedCoding)
        /// The downloaded file does not match its expected checksum.
        public static let checksumMismatch = Code(rawValue: "checksumMismatch")
        /// The server sent another part of the file than the requested one.
        public static let unexpectedRange = Code(rawValue: "unexpectedRange")
        /// The code that receives the response's body failed.
        public static let receivingFailed = Code(rawValue: "receivingFailed")

        /// A sequence that can be iterated only once was iterated again.
        public static let alreadyIterated = Code(rawValue: "alreadyIterated")
        /// The operation is no longer possible, because the request has started.
        public static let alreadyStarted = Code(rawValue: "alreadyStarted")

        // WebSockets
        /// The server's response to a WebSocket handshake is not valid.
        public static let webSocketHandshakeFailed = Code(rawValue: "webSocketHandshakeFailed")
        /// The server violated the WebSocket protocol. ``RequestError/webSocketCloseCode`` is the code with which the
        /// connection was closed.
        public static let webSocketViolation = Code(rawValue: "webSocketViolation")
        /// The WebSocket is closing or closed, so it sends no further message.
        public static let webSocketClosed = Code(rawValue: "webSocketClosed")
        /// Accepted messages were dropped, because their connection was lost before they were sent.
        public static let messagesNotSent = Code(rawValue: "messagesNotSent")

        // Resumable uploads
        /// The file has changed since the upload began.
        public static let fileChanged = Code(rawValue: "fileChanged")
        /// The server sent no URL for the upload, or a URL that is not allowed.
        public static let uploadURLRefused = Code(rawValue: "uploadURLRefused")
        /// The server's state of the upload does not match the file; continuing would corrupt the upload.
        public static let uploadInconsistent = Code(rawValue: "uploadInconsistent")
        /// The server accepts the requests of the upload, but stores none of their bytes.
        public static let uploadStalled = Code(rawValue: "uploadStalled")
        /// The server has lost the upload for the second time. The client had started the upload over after the first
        /// loss.
        public static let uploadGone = Code(rawValue: "uploadGone")

        // Background transfers
        /// The identifier cannot be the name of a folder.
        public static let invalidIdentifier = Code(rawValue: "invalidIdentifier")
        /// Another object or process uses the identifier of background transfers, or their folder.
        public static let identifierInUse = Code(rawValue: "identifierInUse")
        /// The record of a background transfer is damaged, or of a later version.
        public static let invalidTransferRecord = Code(rawValue: "invalidTransferRecord")
        /// The request, its destination or the configuration cannot work in the background.
        public static let unsupportedInBackground = Code(rawValue: "unsupportedInBackground")

        // Middleware
        /// Middleware threw an error, which is the underlying error.
        public static let middlewareFailed = Code(rawValue: "middlewareFailed")
        /// Middleware called `next` while an earlier call of `next` was in progress, or after the middleware had
        /// returned.
        public static let nextRefused = Code(rawValue: "nextRefused")

        // Groups, pages and circuits
        /// The request belongs to another session than the group, or waits for a request that is not in the group.
        public static let foreignRequest = Code(rawValue: "foreignRequest")
        /// Requests of a group would wait for each other.
        public static let dependencyCycle = Code(rawValue: "dependencyCycle")
        /// The request was not sent, because a request of its group that it waits for has failed.
        public static let dependencyFailed = Code(rawValue: "dependencyFailed")
        /// The link to the next page is not valid or not allowed.
        public static let pageRefused = Code(rawValue: "pageRefused")
        /// The link to the next page leads to a page that was already requested.
        public static let pageLoop = Code(rawValue: "pageLoop")
        /// The server names a further page after as many pages as the limit allows.
        public static let tooManyPages = Code(rawValue: "tooManyPages")
        /// The server has failed too often, so a ``CircuitBreaker`` sends it no request. The underlying ``CircuitOpen``
        /// says when it is tried again.
        public static let circuitOpen = Code(rawValue: "circuitOpen")

        // Redirects
        /// The number of redirects exceeds the limit.
        public static let tooManyRedirects = Code(rawValue: "tooManyRedirects")
        /// A redirect leads to a URL that the request has already visited.
        public static let redirectLoop = Code(rawValue: "redirectLoop")
        /// A redirect leads to a URL that is not allowed.
        public static let redirectRefused = Code(rawValue: "redirectRefused")

        // Validating and serializing
        /// A validator rejected the response's status.
        public static let unacceptableStatus = Code(rawValue: "unacceptableStatus")
        /// A validator rejected the response's content type.
        public static let unacceptableContentType = Code(rawValue: "unacceptableContentType")
        /// A custom validator threw an error.
        public static let validationFailed = Code(rawValue: "validationFailed")
        /// The response has no body to serialize.
        public static let emptyBody = Code(rawValue: "emptyBody")
        /// The body is not valid text in its encoding, or the encoding is not supported.
        public static let invalidText = Code(rawValue: "invalidText")
        /// The body is not valid JSON.
        public static let invalidJSON = Code(rawValue: "invalidJSON")
        /// The body is not valid XML.
        public static let invalidXML = Code(rawValue: "invalidXML")
        /// The body is not an image, or not of a kind that the system can read.
        public static let invalidImage = Code(rawValue: "invalidImage")
        /// The body cannot be decoded as the type.
        public static let decodingFailed = Code(rawValue: "decodingFailed")
        /// A serializer awaited the response of its own request. The wait would never end, because that response is
        /// delivered after the serializer has ended.
        public static let serializerAwaitsItself = Code(rawValue: "serializerAwaitsItself")
        /// A custom serializer threw an error.
        public static let serializationFailed = Code(rawValue: "serializationFailed")

        // Ending
        /// A retrier returned an error, which is the underlying error.
        public static let retryFailed = Code(rawValue: "retryFailed")
        /// The session was released before the request started.
        public static let sessionEnded = Code(rawValue: "sessionEnded")
    }
}
