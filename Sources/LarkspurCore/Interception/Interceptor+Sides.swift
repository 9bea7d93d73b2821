// Interceptors made of one side, of several adapters and retriers, or of an array.

extension RequestAdapter where Self == Interceptor {
    /// Returns an interceptor that adapts requests by the adapter, and retries none.
    ///
    ///     let session = Session(interceptor: .adapter(Signed(key: key)))
    public static func adapter(_ adapter: any RequestAdapter) -> Self { Interceptor(adapter: adapter, retrier: nil) }
}

extension RequestRetrier where Self == Interceptor {
    /// Returns an interceptor that retries requests by the retrier, and changes none.
    ///
    ///     let session = Session(configuration: .validated, interceptor: .retrier(Patient()))
    ///
    /// The policies of the library also set idempotency keys, so pass them as interceptors: `interceptor: .retry()`.
    public static func retrier(_ retrier: any RequestRetrier) -> Self { Interceptor(adapter: nil, retrier: retrier) }
}

extension RequestInterceptor where Self == Interceptor {
    /// Returns an interceptor that calls the interceptors of an array in order.
    public static func composed(_ interceptors: [any RequestInterceptor]) -> Self {
        Interceptor(interceptors: interceptors)
    }
}

extension Interceptor {
    /// Creates an interceptor that calls the adapters, the retriers and the interceptors, each in order: a request is
    /// adapted by the adapters first and then by the interceptors, and the retriers are asked before the interceptors.
    public init(
        adapters: [any RequestAdapter], retriers: [any RequestRetrier] = [],
        interceptors: [any RequestInterceptor] = []
    ) {
        let parts =
            adapters.map { Interceptor(adapter: $0, retrier: nil) as any RequestInterceptor }
            + retriers.map { Interceptor(adapter: nil, retrier: $0) } + interceptors
        self.init(interceptors: parts)
    }
}
