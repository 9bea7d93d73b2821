import Larkspur

/// A monitor that counts finished requests. A test that puts it last in a `CompositeEventMonitor` knows which events the
/// other monitors have had.
struct FinishCounter: EventMonitor {
    let counter = Counter()

    func request(_ request: any Request, did event: RequestEvent) {
        if case .finish = event { counter.increment() }
    }
}
