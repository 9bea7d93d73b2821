extension RequestError {
    /// What kind of failure it is; further kinds may be added.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        init(_ code: TransportError.Code) { self.init(rawValue: code.rawValue) }
        public var description: String { rawValue }

        // Building and adapting
        /// A text is no URL that requests are sent to.
        public static let invalidURL = Code(rawValue: "invalidURL")
        /// A method or header field that must not be sent.
        public static let invalidRequest = Code(rawValue: "invalidRequest")
        /// A GET has a body, which servers and proxies drop or refuse.
        public static let bodyInGETRequest = Code(rawValue: "bodyInGETRequest")
        /// A name or password that its scheme cannot carry.
        public static let invalidCredential = Code(rawValue: "invalidCredential")
        /// A cookie made by hand that could not be sent, or must not be.
        public static let invalidCookie = Code(rawValue: "invalidCookie")
        /// The parameters or the body cannot be encoded.
        public static let encodingFailed = Code(rawValue: "encodingFailed")
        /// A convertible or a modifier threw.
        public static let requestCreationFailed = Code(rawValue: "requestCreationFailed")
        /// An adapter threw.
        public static let adaptationFailed = Code(rawValue: "adaptationFailed")

        // Files: for a body, or to write to
        /// Not a `file:` URL, or none that can be a path.
        public static let invalidFileURL = Code(rawValue: "invalidFileURL")
        /// There is no such file.
        public static let fileMissing = Code(rawValue: "fileMissing")
        /// A directory stands where a file has to.
        public static let fileIsDirectory = Code(rawValue: "fileIsDirectory")
        /// A device, a pipe or a socket: it has no length to be sent, and a download does not replace it.
        public static let fileNotRegular = Code(rawValue: "fileNotRegular")
        /// The system does not let the file be read.
        public static let fileUnreadable = Code(rawValue: "fileUnreadable")
        /// A file is there already, and is not to be replaced.
        public static let fileExists = Code(rawValue: "fileExists")
        /// The system does not let the file be written.
        public static let fileUnwritable = Code(rawValue: "fileUnwritable")
        /// The disk has no room for the file.
        public static let diskFull = Code(rawValue: "diskFull")
        /// Another download is writing to the same place.
        public static let fileInUse = Code(rawValue: "fileInUse")
        /// The file that a cookie jar is to be read from holds none, or one of a later version.
        public static let invalidCookieFile = Code(rawValue: "invalidCookieFile")
        /// What a download is to be compared with is no checksum of its kind.
        public static let invalidChecksum = Code(rawValue: "invalidChecksum")
        /// What is to be a certificate is none.
        public static let invalidCertificate = Code(rawValue: "invalidCertificate")
        /// What is to be a public key's pin is none.
        public static let invalidPin = Code(rawValue: "invalidPin")

        // Sending: the transport's codes, with the same raw values
        /// Somebody has cancelled the request.
        public static let cancelled = Code(.cancelled)
        /// There is no transport on this platform, or one of its parts is missing.
        public static let transportUnavailable = Code(.unavailable)
        /// The session, or its transport, has ended.
        public static let sessionInvalidated = Code(.invalidated)
        /// The host's name has no address.
        public static let nameLookup = Code(.nameLookup)
        /// Nobody listens at the host's port.
        public static let connectionRefused = Code(.connectionRefused)
        /// There is no way to the host.
        public static let unreachable = Code(.unreachable)
        /// The process or the system has no file descriptor left for a connection. It is no connectivity failure: a retry
        /// fails as long as the files stay open.
        public static let tooManyOpenFiles = Code(.tooManyOpenFiles)
        /// The proxy cannot be reached, or has made no connection to the host.
        public static let proxyFailed = Code(.proxyFailed)
        /// The proxy wants to know who asks, or has refused who does.
        public static let proxyUnauthorized = Code(.proxyUnauthorized)
        /// The peer ended the connection in the middle.
        public static let connectionLost = Code(.connectionLost)
        /// A limit of time has passed; the message names it.
        public static let timedOut = Code(.timedOut)
        /// No secure connection came about, for another reason than the peer's certificate.
        public static let handshake = Code(.handshake)
        /// The peer speaks no version of TLS that is allowed.
        public static let tlsVersion = Code(.tlsVersion)
        /// The server answered the TLS handshake in plain text: the port is not one for TLS. It is not a connectivity failure.
        public static let notTLS = Code(.notTLS)
        /// The client's certificate or key cannot be used.
        public static let invalidIdentity = Code(.invalidIdentity)
        /// The peer cannot prove who it is, for another reason than those below.
        public static let untrusted = Code(.untrusted)
        /// The peer's certificate, or one that it hangs on, is not valid any more.
        public static let certificateExpired = Code(.certificateExpired)
        /// The peer's certificate, or one that it hangs on, is not valid yet.
        public static let certificateNotYetValid = Code(.certificateNotYetValid)
        /// The peer's certificate leads to no authority that is trusted here.
        public static let unknownIssuer = Code(.unknownIssuer)
        /// The peer has signed its certificate itself.
        public static let selfSigned = Code(.selfSigned)
        /// Its issuer has revoked the peer's certificate.
        public static let certificateRevoked = Code(.certificateRevoked)
        /// The peer does not show that its certificate was not revoked, as was required.
        public static let certificateStatusUnknown = Code(.certificateStatusUnknown)
        /// A public key in the peer's chain is too short for the security level that is required here.
        public static let weakCertificateKey = Code(.weakCertificateKey)
        /// A certificate in the peer's chain is signed with a digest that is no longer secure, such as SHA-1.
        public static let weakCertificateDigest = Code(.weakCertificateDigest)
        /// None of the pins is that of the peer.
        public static let pinMismatch = Code(.pinMismatch)
        /// The peer's certificate is for other hosts.
        public static let wrongHost = Code(.wrongHost)
        /// What the peer sends is no HTTP, or not as it has to be.
        public static let protocolViolation = Code(.protocolViolation)
        /// The body ended before its length.
        public static let truncated = Code(.truncated)
        /// The request's body could not be read.
        public static let bodyFailed = Code(.bodyFailed)
        /// The request's body was needed a second time and cannot be had.
        public static let bodyNotReplayable = Code(.bodyNotReplayable)

        // Receiving
        /// The body is larger than `maximumBodySize`, or gets larger by decoding than `decodingLimits` allow.
        public static let contentTooLarge = Code(.contentTooLarge)
        /// A line, an event or a message of a stream is larger than its limit.
        public static let messageTooLarge = Code(rawValue: "messageTooLarge")
        /// A message of a stream was cut off.
        public static let incompleteMessage = Code(rawValue: "incompleteMessage")
        /// A message of a stream is not where its framing wants it.
        public static let malformedMessage = Code(rawValue: "malformedMessage")
        /// The body's content coding is damaged, ends early or goes on after its end.
        public static let undecodableContent = Code(rawValue: "undecodableContent")
        /// The body has a content or transfer coding that is not supported, or whose library is missing; or too many of them.
        public static let unsupportedCoding = Code(.unsupportedCoding)
        /// The file that was downloaded is not the one that was to come.
        public static let checksumMismatch = Code(rawValue: "checksumMismatch")
        /// The server has sent another part of a file than it was asked for.
        public static let unexpectedRange = Code(rawValue: "unexpectedRange")
        /// Whoever was to take the body as it came could not.
        public static let receivingFailed = Code(rawValue: "receivingFailed")

        /// What can be iterated once is iterated again.
        public static let alreadyIterated = Code(rawValue: "alreadyIterated")
        /// A request was started before what has to be part of it.
        public static let alreadyStarted = Code(rawValue: "alreadyStarted")

        // Resumable uploads
        /// The file is not the one that the upload began with.
        public static let fileChanged = Code(rawValue: "fileChanged")
        /// The server names no URL for the upload, or one that may not be used.
        public static let uploadURLRefused = Code(rawValue: "uploadURLRefused")
        /// What the server says of the upload cannot be true of this file: going on would spoil it.
        public static let uploadInconsistent = Code(rawValue: "uploadInconsistent")
        /// The server accepts requests, and takes none of their bytes.
        public static let uploadStalled = Code(rawValue: "uploadStalled")
        /// The server has forgotten the upload, and forgot it again after a new start.
        public static let uploadGone = Code(rawValue: "uploadGone")

        // Middleware
        /// Middleware threw an error of its own; it is the underlying one.
        public static let middlewareFailed = Code(rawValue: "middlewareFailed")
        /// Middleware has called `next` while an earlier call was under way, or after it had returned.
        public static let nextRefused = Code(rawValue: "nextRefused")

        // Redirects
        /// More redirects than the limit.
        public static let tooManyRedirects = Code(rawValue: "tooManyRedirects")
        /// A redirect leads back to where the request was.
        public static let redirectLoop = Code(rawValue: "redirectLoop")
        /// A redirect leads to where the request must not go.
        public static let redirectRefused = Code(rawValue: "redirectRefused")

        // Validating and serializing
        /// A validator does not accept the response's status.
        public static let unacceptableStatus = Code(rawValue: "unacceptableStatus")
        /// A validator does not accept the response's type.
        public static let unacceptableContentType = Code(rawValue: "unacceptableContentType")
        /// A validator of your own threw.
        public static let validationFailed = Code(rawValue: "validationFailed")
        /// There is no body to make a value of.
        public static let emptyBody = Code(rawValue: "emptyBody")
        /// The body is not text in its encoding, or the encoding is not known or not available here.
        public static let invalidText = Code(rawValue: "invalidText")
        /// The body is no JSON.
        public static let invalidJSON = Code(rawValue: "invalidJSON")
        /// The body is no XML.
        public static let invalidXML = Code(rawValue: "invalidXML")
        /// The body is no image, or of a kind that the system cannot read.
        public static let invalidImage = Code(rawValue: "invalidImage")
        /// The body makes no value of the type.
        public static let decodingFailed = Code(rawValue: "decodingFailed")
        /// A serializer awaited a response of its own request, which is delivered after the serializer has ended.
        public static let serializerAwaitsItself = Code(rawValue: "serializerAwaitsItself")
        /// A serializer of your own threw.
        public static let serializationFailed = Code(rawValue: "serializationFailed")

        // Ending
        /// A retrier answered with an error of its own; it is the underlying one.
        public static let retryFailed = Code(rawValue: "retryFailed")
        /// The session went away before the request was started.
        public static let sessionEnded = Code(rawValue: "sessionEnded")
    }
}
