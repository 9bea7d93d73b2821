extension SessionConfiguration {
    /// The default configuration with the validator ``ResponseValidator/standard``: a status outside of 200..<300 is an
    /// error, as in axios and after `raise_for_status()` in httpx.
    ///
    ///     let session = Session(configuration: .validated, interceptor: .retry(limit: 3))
    ///
    /// Without a validator every status is a success, and retriers and token refreshes learn of network errors alone.
    public static var validated: SessionConfiguration { validated { _ in } }

    /// Returns a configuration with the validator ``ResponseValidator/standard`` and the changes of the closure.
    ///
    ///     let session = Session(configuration: .validated { $0.baseURL = "https://api.example.com/v1" })
    public static func validated(_ configure: (inout SessionConfiguration) -> Void) -> SessionConfiguration {
        SessionConfiguration {
            $0.validation = [.standard]
            configure(&$0)
        }
    }
}
