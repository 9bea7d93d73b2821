// Makes Foundation's value types and the system's functions visible in all files of this module and in all modules that
// import this module.
//
// `LarkspurBase` becomes visible in the same way. Its API has package access, so users of the library cannot use it.
@_exported import LarkspurBase

#if canImport(FoundationEssentials)
    @_exported import FoundationEssentials
#else
    @_exported import Foundation
#endif
#if canImport(Darwin)
    @_exported import Darwin
#elseif canImport(Glibc)
    @_exported import Glibc
#elseif canImport(Musl)
    @_exported import Musl
#endif
