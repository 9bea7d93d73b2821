// All files of this module, and all modules that import it, see `LarkspurTransport` and the whole of Foundation.
@_exported import Foundation
@_exported import LarkspurTransport

#if canImport(FoundationNetworking)
    @_exported import FoundationNetworking
#endif
