// Users need to import only Larkspur. On Linux `URLRequest` and related types are in FoundationNetworking; without
// these exports users would have to import that module under an `#if`. The files of the Larkspur module also see the
// exported modules.
@_exported import Foundation
@_exported public import LarkspurCache
@_exported import LarkspurTransport

#if canImport(FoundationNetworking)
    @_exported import FoundationNetworking
#endif

#if canImport(Darwin)
    @_exported public import LarkspurURLSession
#elseif os(Linux)
    @_exported public import LarkspurCurl
#endif
