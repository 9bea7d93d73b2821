import Larkspur
import TestSupport
import Testing

extension TransportContractTests {
    @Suite("Questions", .limited)
    struct Questions {}
}

extension TransportContractTests.Questions {
    /// Makes a stage with a connection to reuse: only the loss of such a connection makes a hop be sent again.
    private static func stage(_ subject: ContractSubject) async throws -> Stage {
        let stage = try await Stage(subject)
        try await stage.settle()
        return stage
    }

    private static let again: [PeerStep] = [.needBodyAgain] + .response(body: .pattern(8))

    private static func streamed(_ bytes: [UInt8], piece: Int = 7) -> TransportBody {
        .stream(
            TransportBodySource(length: UInt64(bytes.count), isReplayable: true) { ArrayStream(bytes, piece: piece) })
    }

    private static func freshStream(_ bytes: [UInt8], piece: Int = 7) -> RecordingDelegate {
        RecordingDelegate(answering: { question in
            if case .bodyFromStart(_, let reply) = question { reply(ArrayStream(bytes, piece: piece)) }
        })
    }

    @Test(
        "T19: a question is asked on the thread that delivers events, never over one",
        arguments: ContractSubject.all(stating: .sendsOnce))
    func thread(subject: ContractSubject) async throws {
        let stage = try await Self.stage(subject)
        for _ in 0..<20 {
            let bytes = [UInt8].pattern(40)
            let exchange = try stage.exchange(
                Self.again, method: "PUT", body: Self.streamed(bytes), delegate: Self.freshStream(bytes))
            let trace = try await exchange.run()
            #expect(trace.questions.count == 1)
            let records = trace.records.filter { $0.what.name != "admission" }
            #expect(Set(records.map(\.thread)).count == 1)
            #expect(trace.audit(bodyIsBegunAgain: true) == [])
        }
    }

    @Test(
        "T19: a question unanswered when answer returns is refused", arguments: ContractSubject.all(stating: .sendsOnce)
    )
    func lateAnswer(subject: ContractSubject) async throws {
        let stage = try await Self.stage(subject)
        let kept = Observed<TransportReply<any TransportBodyStream>?>(nil)
        let delegate = RecordingDelegate(answering: { question in
            if case .bodyFromStart(_, let reply) = question { kept.change { $0 = reply } }
        })
        let exchange = try stage.exchange(
            Self.again, method: "PUT", body: Self.streamed(.pattern(40)), delegate: delegate)
        exchange.task.resume()
        let reply = try #require(try await kept.wait { $0 != nil })
        let trace = try await exchange.finished()
        reply(ArrayStream(.pattern(40), piece: 7))
        try await stage.settle()
        #expect(trace.failure == .bodyNotReplayable)
        #expect(exchange.trace.events.count == trace.events.count)
        #expect(exchange.trace.audit(bodyIsBegunAgain: true) == [])
    }

    @Test(
        "T19: a task cancelled from inside answer ends as cancelled or refused",
        arguments: ContractSubject.all(stating: .sendsOnce))
    func cancelledFromInside(subject: ContractSubject) async throws {
        let stage = try await Self.stage(subject)
        let task = Protected<(any TransportTask)?>(nil)
        let delegate = RecordingDelegate(answering: { _ in task.withLock { $0 }?.cancel() })
        let exchange = try stage.exchange(
            Self.again, method: "PUT", body: Self.streamed(.pattern(40)), delegate: delegate)
        task.withLock { $0 = exchange.task }
        let trace = try await exchange.run()
        task.withLock { $0 = nil }
        #expect(trace.failure == .cancelled || trace.failure == .bodyNotReplayable)
        #expect(trace.audit(bodyIsBegunAgain: true) == [])
    }

    @Test(
        "T20: a streamed body is asked for before it is sent again", arguments: ContractSubject.all(stating: .sendsOnce)
    )
    func asked(subject: ContractSubject) async throws {
        let stage = try await Self.stage(subject)
        let (bytes, piece) = (stage.body(buffers: 3), subject.buffer / 2 + 1)
        let exchange = try stage.exchange(
            Self.again, method: "PUT", body: Self.streamed(bytes, piece: piece),
            delegate: Self.freshStream(bytes, piece: piece))
        let trace = try await exchange.run()
        try #require(trace.questions.count == 1)
        guard case .bodyFromStart(let offset, _) = trace.questions[0] else {
            Issue.record("another question: \(trace.questions[0])")
            return
        }
        #expect(offset <= UInt64(bytes.count))
        #expect(trace.isSuccess)
        #expect(exchange.requests.last?.body == bytes)
        #expect(trace.audit(bodyIsBegunAgain: true) == [])
    }

    @Test("T20: a streamed body that is sent once is not asked for", arguments: ContractSubject.all)
    func notAsked(subject: ContractSubject) async throws {
        let stage = try await Self.stage(subject)
        let exchange = try stage.exchange(.response(), method: "POST", body: Self.streamed(.pattern(40)))
        let trace = try await exchange.run()
        #expect(trace.questions.isEmpty)
        #expect(trace.isSuccess)
        #expect(trace.audit() == [])
    }

    @Test("T20: a refusal ends the task with bodyNotReplayable", arguments: ContractSubject.all(stating: .sendsOnce))
    func refused(subject: ContractSubject) async throws {
        let stage = try await Self.stage(subject)
        let exchange = try stage.exchange(Self.again, method: "PUT", body: Self.streamed(.pattern(40)))
        let trace = try await exchange.run()
        #expect(trace.questions.count == 1)
        #expect(trace.failure == .bodyNotReplayable)
        #expect(trace.heads.isEmpty)
        #expect(trace.audit(bodyIsBegunAgain: true) == [])
    }

    @Test(
        "T20: data and files are sent again without asking", arguments: ContractSubject.all(stating: .sendsOnce),
        [true, false])
    func replayed(subject: ContractSubject, isFile: Bool) async throws {
        let stage = try await Self.stage(subject)
        let bytes = stage.body(buffers: 3)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try Data(bytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let body: TransportBody =
            isFile ? .file(path: file.path, length: UInt64(bytes.count)) : .data(Data(bytes))
        let exchange = try stage.exchange(Self.again, method: "PUT", body: body)
        let trace = try await exchange.run()
        #expect(trace.questions.isEmpty)
        #expect(trace.isSuccess)
        #expect(exchange.requests.last?.body == bytes)
        #expect(trace.audit(bodyIsBegunAgain: true) == [])
    }
}
