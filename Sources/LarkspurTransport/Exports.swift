// Exported to every file of this module and of the transports: Foundation's value types and the system's functions.
// `LarkspurBase` has package API only, so exporting it shows users nothing.
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
