// All files of this module, and all modules that import it, see Foundation's value types and the system's functions.
//
// They also see `LarkspurBase`, which has only package API, so users see nothing of it.
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
