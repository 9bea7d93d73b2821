/// Properties of errors that Foundation's functions throw.
package enum FoundationError {
    /// Returns the description for developers; nil if the error has none. `JSONDecoder` describes invalid JSON by it.
    package static func debugDescription(of error: any Error) -> String? {
        #if Foundation || canImport(Darwin)
            (error as NSError).userInfo["NSDebugDescription"] as? String
        #else
            nil
        #endif
    }
}
