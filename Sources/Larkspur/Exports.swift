// Users need to import only Larkspur. The files of the Larkspur module also see the exported modules.
//
// The trait `Foundation` adds the whole of Foundation. On Linux `URLRequest` and related types are in
// FoundationNetworking; without this export users would have to import that module under an `#if`. Without the trait,
// the module and its users see FoundationEssentials alone, as `LarkspurHTTP` exports it, and link nothing more.
@_exported public import LarkspurCache
@_exported public import LarkspurJSON
@_exported import LarkspurTransport

#if Foundation || canImport(Darwin)
    @_exported import Foundation
    #if canImport(FoundationNetworking)
        @_exported import FoundationNetworking
    #endif
#endif

#if canImport(Darwin)
    @_exported public import LarkspurURLSession
#elseif os(Linux)
    @_exported public import LarkspurCurl
#endif
