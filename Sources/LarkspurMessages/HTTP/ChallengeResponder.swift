/// The means of a request to answer the challenges of servers, such as a user's name and password.
///
/// The type is a class, because most requests have none: their options then contain only a null pointer.
package protocol ChallengeResponder: AnyObject, Sendable {
    /// Adds the responder to the request of an attempt, unless the request already has a credential.
    func join(_ request: inout OutgoingRequest) throws(RequestError)

    /// Returns the request that answers a challenge in this head; nil if no answer is possible.
    func answer(to head: ResponseHead, of request: OutgoingRequest) -> OutgoingRequest?

    /// Adds the field that answers a challenge, computed for the method and the target of the hop that begins.
    func prove(in request: inout OutgoingRequest)

    func isEqual(to other: any ChallengeResponder) -> Bool
    func hash(into hasher: inout Hasher)
}

/// A responder that options can compare.
struct ComparableResponder: Hashable, Sendable {
    let base: any ChallengeResponder

    static func == (lhs: Self, rhs: Self) -> Bool { lhs.base.isEqual(to: rhs.base) }
    func hash(into hasher: inout Hasher) { base.hash(into: &hasher) }
}

extension OutgoingRequest {
    /// Adds the field that answers a challenge, computed for this method and target.
    package mutating func proveCredential() { responder?.prove(in: &self) }
}
