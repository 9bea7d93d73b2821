extension BackgroundTransfers {
    /// Opens the transfers of an identifier, and continues those of earlier runs.
    ///
    /// Throws `.invalidIdentifier`, `.identifierInUse` if another object or process uses the identifier or the folder,
    /// `.unsupportedInBackground` for a configuration that cannot work, or an error about the folder. The identifier is
    /// in use until ``close()`` is called, or until this object and its transfers are released. On Apple's platforms it
    /// is in use until the process ends.
    ///
    /// - Parameters:
    ///   - identifier: A name that is the same in each run, such as `com.example.films`.
    ///   - configuration: The settings of the session that makes the requests, with its interceptors.
    ///   - interceptor: An interceptor, called after those of the configuration.
    ///   - options: The retries, and the conditions under which the system transfers.
    ///   - folder: The folder of the records. Nil, the default, is `larkspur/IDENTIFIER` in `$XDG_STATE_HOME` (by
    ///     default `~/.local/state`), and in Application Support on Apple's platforms.
    ///   - transport: A transport that performs the transfers while the program runs, for tests. Nil, the default, uses
    ///     the system's background session on Apple's platforms, and libcurl on Linux.
    public convenience init(
        identifier: String, configuration: SessionConfiguration = SessionConfiguration(),
        interceptor: (any RequestInterceptor)? = nil, options: Options = Options(), folder: URL? = nil,
        transport: (any Transport)? = nil
    ) throws(RequestError) {
        try self.init(
            identifier: identifier, configuration: configuration, interceptor: interceptor, options: options,
            folder: folder, transport: transport ?? PlatformEngine.make(), isSystem: transport == nil)
    }
}
