/// The steps of a hop in which a participant does something.
package struct HopSteps: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// ``HopParticipant/target(for:)``.
    package static let targets = HopSteps(rawValue: 1)
    /// ``HopParticipant/adjust(_:of:)``.
    package static let adjusts = HopSteps(rawValue: 2)
    /// ``HopParticipant/prepare(_:)``.
    package static let prepares = HopSteps(rawValue: 4)
    /// ``HopParticipant/learnsLater(from:)`` and ``HopParticipant/learn(from:of:)``.
    package static let learns = HopSteps(rawValue: 8)
}

/// A participant that names its steps, so that it is not asked in others, which all requests would pay for.
package protocol SelectiveParticipant: HopParticipant {
    static var steps: HopSteps { get }
}

/// The participants of a session, by their steps. Each list has the outermost first.
package struct HopParticipants: Sendable {
    package let all: [any HopParticipant]
    let targeting: [any HopParticipant]
    let adjusting: [any HopParticipant]
    let preparing: [any HopParticipant]
    let learning: [any HopParticipant]

    init(_ all: [any HopParticipant]) {
        func those(_ step: HopSteps) -> [any HopParticipant] {
            all.filter { participant in
                (participant as? any SelectiveParticipant).map { type(of: $0).steps.contains(step) } ?? true
            }
        }
        self.all = all
        (targeting, adjusting) = (those(.targets), those(.adjusts))
        (preparing, learning) = (those(.prepares), those(.learns))
    }
}
