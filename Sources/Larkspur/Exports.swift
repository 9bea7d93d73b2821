// Users need to import only Larkspur. It exports the framework, its annexes and the platform's engine.
@_exported public import LarkspurCombine
@_exported public import LarkspurCore
@_exported public import LarkspurFlow
@_exported public import LarkspurReachability
@_exported public import LarkspurSecurity
@_exported public import LarkspurTransfers
@_exported public import LarkspurWebSocket

#if canImport(Darwin)
    @_exported public import LarkspurURLSession
#elseif os(Linux)
    @_exported public import LarkspurCurl
#endif
