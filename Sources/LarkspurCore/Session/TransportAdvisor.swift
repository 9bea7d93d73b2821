/// A participant that answers the questions of the transport, such as whether a server is trusted.
package protocol TransportAdvisor: HopParticipant {
    /// Answers the question, or returns why it is not answered yet. Called on a thread of the transport, which must not
    /// run user code (rule R2 in Concurrency.md).
    func answer(_ question: TransportQuestion) -> AdvisorAnswer
}

/// Several advisors. The first that answers a question counts.
struct AdvisorChain: TransportAdvisor {
    private let advisors: [any TransportAdvisor]

    /// Returns one advisor in place of all; nil if there are none.
    static func advisor(_ advisors: [any TransportAdvisor]) -> (any TransportAdvisor)? {
        advisors.count > 1 ? AdvisorChain(advisors: advisors) : advisors.first
    }

    func answer(_ question: TransportQuestion) -> AdvisorAnswer {
        for advisor in advisors {
            let answer = advisor.answer(question)
            if case .none = answer { continue }
            return answer
        }
        return .none
    }
}

/// The response of an advisor to a question of the transport.
package enum AdvisorAnswer {
    /// The question has its answer.
    case given
    /// The hop was refused. It is sent again after the inquiry.
    case inquires(any HopInquiry)
    /// The advisor does not answer questions of this kind.
    case none
}

/// Work that is needed before a hop can be sent again, such as the evaluation of a server's certificate by user code.
package protocol HopInquiry: Sendable {
    /// Returns an error if the request has made too many inquiries.
    ///
    /// - Parameter earlier: The inquiries for earlier hops of the request.
    func refusal(after earlier: [any HopInquiry]) -> TransportError?

    /// Waits for the result. Returns an error if the hop must not be sent again.
    func settle() async -> TransportError?
}
