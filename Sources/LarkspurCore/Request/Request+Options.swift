extension Request {
    /// The value of an option: a setting that a module adds, or a value that the program attaches to the request, such
    /// as a tag for its logs.
    ///
    ///     struct Feature: RequestOption {
    ///         var name = "none"
    ///     }
    ///
    ///     let request = await session.request(url).option(Feature(name: "search"))
    ///     print(request[Feature.self].name)
    ///
    /// Monitors read it of the request that they get, interceptors and middleware of the ``OutgoingRequest``. A request
    /// that does not set the option has that of its session's ``SessionConfiguration/options``. A value that is set
    /// while an attempt is in flight applies to later attempts.
    public subscript<Option: RequestOption>(_ type: Option.Type) -> Option {
        get {
            let core = handle.core
            return core.read { $0.added(type) } ?? core.context.configuration.options.added[type] ?? Option()
        }
        set { handle.core.set("option") { $0.added[type] = newValue } }
    }

    /// Sets an option of the request.
    @discardableResult
    public func option<Option: RequestOption>(_ option: Option) -> Self {
        handle.core.set("option") { $0.added[Option.self] = option }
        return self
    }
}

extension RequestState {
    /// The option that the request has set, or that was set where its latest request was built; nil if there is none.
    fileprivate func added<Option: RequestOption>(_ type: Option.Type) -> Option? {
        settings.added[type] ?? (lastHop?.request ?? attempt?.request)?.options.added[type]
    }
}
