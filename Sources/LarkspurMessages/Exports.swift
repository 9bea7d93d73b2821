// Makes the exported modules visible in all files of this module and in all modules that import this module.
//
// The trait `Foundation` adds the whole of Foundation. On Linux `URLRequest` and related types are in
// FoundationNetworking; without this export users would have to import that module under an `#if`. Without the trait,
// the module and its users see FoundationEssentials alone, as `LarkspurHTTP` exports it, and link nothing more.
@_exported public import LarkspurJSON
@_exported import LarkspurTransport

#if Foundation || canImport(Darwin)
    @_exported import Foundation
    #if canImport(FoundationNetworking)
        @_exported import FoundationNetworking
    #endif
#endif
