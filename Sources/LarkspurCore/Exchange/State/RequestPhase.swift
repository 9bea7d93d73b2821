/// The phase of a request. Only the phase records the request's progress; no other flag repeats it (rule R3 in
/// Concurrency.md).
package enum RequestPhase: CaseIterable, Sendable {
    /// The request has not been started.
    case idle
    /// The pipeline builds and adapts the request, or middleware runs before the first hop.
    case preparing
    /// A hop is in flight.
    case transferring
    /// The head of a response was delivered before its body. The pipeline validates the head and receives the body in
    /// chunks, or calls response gates or the redirect handler.
    case receiving
    /// The pipeline validates, serializes, calls retriers, or decides about the next hop. Or middleware runs after a
    /// hop.
    case settling
    /// The pipeline waits for the retry delay to pass.
    case backingOff
    /// The request was cancelled while a hop was in flight. The request finishes when the hop has ended.
    case cancellingHop
    /// The request was cancelled. The task that got the verdict `.takeOver` or `.unwind` finishes the request, and the
    /// pipeline stops.
    case unwinding
    /// The request has finished. A serializer that is attached now runs on the stored exchange.
    case finished

    package enum Event: CaseIterable, Sendable {
        /// The first serializer was attached, or `resume()` was called.
        case start
        /// The pipeline is about to begin a hop.
        case beginHop
        /// The transport has delivered the head of a response, and the pipeline needs the head before the body.
        case receive
        /// A hop has ended, or the attempt has failed without one.
        case settle
        /// The pipeline is about to wait for a retry delay.
        case backOff
        /// The pipeline begins a further attempt.
        case prepare
        /// The request was cancelled or timed out, or its session ended.
        case cancel
        /// The pipeline has run all serializers.
        case finish
        /// Every response of a cancelled request has been given its error.
        case finishUnwinding
    }

    /// The action that the caller of `receiving(_:)` has to perform after unlocking.
    package enum Verdict: Sendable {
        /// Continue with the step.
        case proceed
        /// Do nothing, because the event has no effect in this phase.
        case ignore
        /// Start the pipeline.
        case run
        /// Stop, because another task finishes the request.
        case abandon
        /// Cancel the pipeline's task and the hop, and finish the request in another task, because user code may block
        /// the pipeline.
        case takeOver
        /// Cancel the hop. The request finishes after the hop has ended.
        case cancelHop
        /// Stop the pipeline, and finish the request as cancelled.
        case unwind
        /// Report a defect of the library, because this event must not occur in this phase.
        case illegal
    }

    /// The phase table: the next phase and the verdict for every phase and event.
    package func receiving(_ event: Event) -> (next: RequestPhase, verdict: Verdict) {
        switch (self, event) {
        case (.idle, .start): (.preparing, .run)
        case (.preparing, .start), (.transferring, .start), (.receiving, .start), (.settling, .start),
            (.backingOff, .start),
            (.cancellingHop, .start), (.unwinding, .start), (.finished, .start):
            (self, .ignore)

        case (.preparing, .beginHop), (.settling, .beginHop): (.transferring, .proceed)
        case (.cancellingHop, .beginHop): (.unwinding, .unwind)
        case (.unwinding, .beginHop), (.finished, .beginHop): (self, .abandon)
        case (.idle, .beginHop), (.transferring, .beginHop), (.receiving, .beginHop), (.backingOff, .beginHop):
            (self, .illegal)

        case (.transferring, .receive): (.receiving, .proceed)
        case (.cancellingHop, .receive), (.unwinding, .receive), (.finished, .receive): (self, .ignore)
        case (.idle, .receive), (.preparing, .receive), (.receiving, .receive), (.settling, .receive),
            (.backingOff, .receive):
            (self, .illegal)

        case (.preparing, .settle), (.transferring, .settle), (.receiving, .settle): (.settling, .proceed)
        case (.cancellingHop, .settle): (.unwinding, .unwind)
        case (.unwinding, .settle), (.finished, .settle): (self, .abandon)
        case (.idle, .settle), (.settling, .settle), (.backingOff, .settle): (self, .illegal)

        case (.settling, .backOff): (.backingOff, .proceed)
        case (.unwinding, .backOff), (.finished, .backOff): (self, .abandon)
        case (.idle, .backOff), (.preparing, .backOff), (.transferring, .backOff), (.receiving, .backOff),
            (.backingOff, .backOff), (.cancellingHop, .backOff):
            (self, .illegal)

        case (.settling, .prepare), (.backingOff, .prepare): (.preparing, .proceed)
        case (.unwinding, .prepare), (.finished, .prepare): (self, .abandon)
        case (.idle, .prepare), (.preparing, .prepare), (.transferring, .prepare), (.receiving, .prepare),
            (.cancellingHop, .prepare):
            (self, .illegal)

        case (.idle, .cancel), (.preparing, .cancel), (.receiving, .cancel), (.settling, .cancel),
            (.backingOff, .cancel):
            (.unwinding, .takeOver)
        case (.transferring, .cancel): (.cancellingHop, .cancelHop)
        case (.cancellingHop, .cancel), (.unwinding, .cancel), (.finished, .cancel): (self, .ignore)

        case (.settling, .finish): (.finished, .proceed)
        case (.unwinding, .finish), (.finished, .finish): (self, .abandon)
        case (.idle, .finish), (.preparing, .finish), (.transferring, .finish), (.receiving, .finish),
            (.backingOff, .finish), (.cancellingHop, .finish):
            (self, .illegal)

        case (.unwinding, .finishUnwinding): (.finished, .proceed)
        case (.idle, .finishUnwinding), (.preparing, .finishUnwinding), (.transferring, .finishUnwinding),
            (.receiving, .finishUnwinding), (.settling, .finishUnwinding), (.backingOff, .finishUnwinding),
            (.cancellingHop, .finishUnwinding), (.finished, .finishUnwinding):
            (self, .illegal)
        }
    }
}
