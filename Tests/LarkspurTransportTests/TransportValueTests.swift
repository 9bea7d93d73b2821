import Foundation
import LarkspurTransport
import TestSupport
import Testing

@Suite("TransportReply", .limited)
struct TransportReplyTests {
    @Test("an unanswered reply is nil, a refusal")
    func unanswered() {
        #expect(TransportReply<TrustDecision>().value == nil)
    }

    @Test(
        "the first answer counts",
        arguments: [
            [TrustDecision.trusted], [.refused(reason: "a"), .trusted],
            [.platformDefault, .refused(reason: "b"), .trusted],
        ])
    func firstAnswer(answers: [TrustDecision]) {
        let reply = TransportReply<TrustDecision>()
        for answer in answers { reply(answer) }
        #expect(reply.value == answers.first)
    }

    @Test("copies of a reply share the answer")
    func copies() {
        let reply = TransportReply<Int>()
        let copy = reply
        copy(1)
        reply(2)
        #expect(reply.value == 1)
        #expect(copy.value == 1)
    }

    @Test("of concurrent answers exactly one counts, and it does not change")
    func race() async {
        for _ in 0..<200 {
            let reply = TransportReply<Int>()
            let seen = await withTaskGroup(of: Int?.self) { group in
                for number in 0..<4 {
                    group.addTask {
                        reply(number)
                        return reply.value
                    }
                }
                return await group.reduce(into: Set<Int?>()) { $0.insert($1) }
            }
            #expect(seen.count == 1)
            #expect(seen.first == reply.value)
        }
    }
}

@Suite("TransportBody", .limited)
struct TransportBodyTests {
    private static func stream(_ length: UInt64?, isReplayable: Bool) -> TransportBody {
        .stream(
            TransportBodySource(length: length, isReplayable: isReplayable) { preconditionFailure("nobody reads it") })
    }

    /// The bodies, created for each access: the leak sanitizer reports data that lives as long as the process.
    private static var bodies: [(body: TransportBody, length: UInt64?, isReplayable: Bool)] {
        [
            (.none, 0, true),
            (.data(Data()), 0, true),
            (.data(Data([1, 2, 3])), 3, true),
            (.data(Data([1, 2, 3])[1...]), 2, true),
            (.file(path: "/nowhere", length: 0), 0, true),
            (.file(path: "/nowhere", length: .max), .max, true),
            (stream(nil, isReplayable: false), nil, false),
            (stream(nil, isReplayable: true), nil, true),
            (stream(0, isReplayable: false), 0, false),
            (stream(7, isReplayable: true), 7, true),
        ]
    }

    @Test("a body has its length and whether it is replayable without being opened", arguments: bodies)
    func lengths(body: TransportBody, length: UInt64?, isReplayable: Bool) {
        #expect(body.length == length)
        #expect(body.isReplayable == isReplayable)
    }
}

@Suite("TransportError", .limited)
struct TransportErrorTests {
    private static let descriptions: [(error: TransportError, text: String)] = [
        (TransportError(.timedOut), "timedOut"),
        (TransportError(.timedOut, phase: .connecting), "timedOut while connecting"),
        (TransportError(.nameLookup, "no address for a.test"), "no address for a.test (nameLookup)"),
        (
            TransportError(.connectionLost, "the peer hung up", phase: .receiving),
            "the peer hung up (connectionLost while receiving)"
        ),
        (.cancelled, "the request was cancelled (cancelled)"),
        (TransportError(TransportError.Code(rawValue: "custom"), "x"), "x (custom)"),
    ]

    @Test("a description names the failure, its code, and the phase if there is one", arguments: descriptions)
    func description(error: TransportError, text: String) {
        #expect(error.description == text)
        #expect("\(error as any Error)" == text)
    }

    @Test("an underlying error is stored but not described, because it may contain secrets")
    func underlying() {
        struct Secret: Error { let password = "hunter2" }
        let error = TransportError(.bodyFailed, "the body could not be read", underlying: Secret())
        #expect(error.underlying is Secret)
        #expect(!error.description.contains("hunter2"))
    }

    @Test("codes are compared by their names")
    func codes() {
        let codes: [TransportError.Code] = [
            .cancelled, .invalidated, .unavailable, .nameLookup, .connectionRefused, .unreachable, .connectionLost,
            .timedOut, .handshake, .untrusted, .protocolViolation, .truncated, .bodyFailed, .bodyNotReplayable, .other,
        ]
        #expect(Set(codes).count == codes.count)
        #expect(Set(codes.map(\.rawValue)).count == codes.count)
        #expect(TransportError.Code(rawValue: "timedOut") == .timedOut)
    }
}

@Suite("ClientIdentity", .limited)
struct ClientIdentityTests {
    @Test("no description shows the key or its password")
    func secrets() {
        let key = Array("s3cret".utf8)
        for identity in [
            ClientIdentity(certificateChain: [1], privateKey: key, password: "s3cret"),
            ClientIdentity(pkcs12: key, password: "s3cret"),
        ] {
            var shown = "\(identity) \(String(reflecting: identity))"
            dump(identity, to: &shown)
            #expect(shown.contains("ClientIdentity(REDACTED)"))
            #expect(!shown.contains("s3cret") && !shown.contains("\(key[0])"))
        }
    }
}

@Suite("TransportRequest", .limited)
struct TransportRequestTests {
    @Test("by default a request is a GET without fields, body and allowance limit")
    func defaults() throws {
        let request = try TransportRequest(url: RequestURL("http://h/"))
        #expect(request.method == "GET")
        #expect(request.fields.isEmpty)
        #expect(request.body.length == 0)
        #expect(request.initialAllowance == .max)
    }
}
