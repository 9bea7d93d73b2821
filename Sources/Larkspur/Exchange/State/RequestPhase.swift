/// The phase of a request. It is the only record of the request's progress: no flag repeats it (rule R3 in
/// Concurrency.md).
package enum RequestPhase: CaseIterable, Sendable {
    /// The request was not started.
    case idle
    /// The pipeline builds and adapts the request, or middleware runs before it sends anything.
    case preparing
    /// A hop is in flight.
    case transferring
    /// The head of a response was delivered before its body: the pipeline validates it and receives the body in chunks,
    /// or asks response gates or the redirect handler.
    case receiving
    /// The pipeline validates, serializes, asks retriers, or decides about the next hop, or middleware runs after a
    /// hop.
    case settling
    /// The pipeline waits for the retry delay to pass.
    case backingOff
    /// The request was cancelled while a hop was in flight. It finishes when the hop has ended.
    case cancellingHop
    /// The request was cancelled. The task that got `.takeOver` or `.unwind` finishes it; the pipeline stops.
    case unwinding
    /// The request has finished. Serializers that are attached now run on the stored response.
    case finished

    package enum Event: CaseIterable, Sendable {
        /// The first serializer was attached, or `resume()` was called.
        case start
        /// The pipeline is about to begin a hop.
        case beginHop
        /// The transport has delivered a head that the pipeline needs before the body.
        case receive
        /// A hop has ended, or the attempt has failed without one.
        case settle
        /// The pipeline is about to wait for a retry delay.
        case backOff
        /// The pipeline begins a further attempt.
        case prepare
        /// The request was cancelled, timed out, or lost its session.
        case cancel
        /// The pipeline has run all serializers.
        case finish
        /// All responses of a cancelled request have their error.
        case finishUnwinding
    }

    /// The action that the caller of `receiving(_:)` does after unlocking.
    package enum Verdict: Sendable {
        /// Go on.
        case proceed
        /// Do nothing.
        case ignore
        /// Start the pipeline.
        case run
        /// Stop. Another task finishes the request.
        case abandon
        /// End the hop in flight and finish the request in another task, because user code may block the pipeline.
        case takeOver
        /// Cancel the hop.
        case cancelHop
        /// Leave the pipeline, and finish the request as cancelled.
        case unwind
        /// The library has a defect: this event must not occur in this phase.
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
