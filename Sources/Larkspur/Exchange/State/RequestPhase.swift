/// Where a request is on its way. There is one of these for each request, and no Bool beside it (R3).
package enum RequestPhase: CaseIterable, Sendable {
    /// Nothing was started.
    case idle
    /// The pipeline builds and adapts, or middleware runs that has sent nothing yet.
    case preparing
    /// A hop is with the transport.
    case transferring
    /// The head of a response that is not kept in memory is there: the pipeline validates it and takes the body as it
    /// comes, through middleware if there is any. Or that of a redirect which somebody is asked about.
    case receiving
    /// The pipeline validates, serializes, asks retriers, or decides on the next hop, or middleware runs that has sent
    /// something.
    case settling
    /// The pipeline waits for the next attempt.
    case backingOff
    /// Cancelled while a hop was with the transport: the request is finished as soon as the hop has ended.
    case cancellingHop
    /// Cancelled: whoever was told `.takeOver` or `.unwind` finishes; anybody else gives up.
    case unwinding
    /// Final. Serializers attached from now on work on what is stored.
    case finished

    package enum Event: CaseIterable, Sendable {
        /// The first serializer, or `resume()`.
        case start
        /// The pipeline is about to hand a hop to the transport.
        case beginHop
        /// The transport has brought the head of a response whose body goes on to somebody.
        case receive
        /// The pipeline has got a hop's end, or failed before there was one.
        case settle
        /// The pipeline is about to wait for the next attempt.
        case backOff
        /// The pipeline begins a further attempt.
        case prepare
        /// Somebody cancelled, or the session ended.
        case cancel
        /// The pipeline has serialized everything.
        case finish
        /// Whoever unwinds has serialized everything.
        case finishUnwinding
    }

    /// What the one who brought the event has to do, after unlocking.
    package enum Verdict: Sendable {
        /// Go on.
        case proceed
        /// Nothing: the event changes nothing here.
        case ignore
        /// Start the pipeline.
        case run
        /// Stop: somebody else finishes the request.
        case abandon
        /// Finish the request, on a task of its own: the pipeline may be held up in somebody's code. A hop that is with
        /// the transport is ended.
        case takeOver
        /// Tell the transport to end the hop.
        case cancelHop
        /// Leave, and have the request finished as cancelled.
        case unwind
        /// A broken rule of the library's own.
        case illegal
    }

    /// The whole table: every phase with every event.
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
