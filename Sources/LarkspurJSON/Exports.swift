// Makes Foundation's value types and the system's functions visible in all files of this module and in all modules that
// import this module. `LarkspurBase` becomes visible in the same way; its API has package access.
@_exported import LarkspurBase

#if Foundation || canImport(Darwin) || !canImport(FoundationEssentials)
    @_exported import Foundation
#else
    @_exported import FoundationEssentials
#endif
#if canImport(Darwin)
    @_exported import Darwin
#elseif canImport(Glibc)
    @_exported import Glibc
#elseif canImport(Musl)
    @_exported import Musl
#endif
