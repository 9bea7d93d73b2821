// `import Larkspur` is enough everywhere: users need no `#if` for where URLRequest and its kin live. The files of this
// module see all of it too.
@_exported import Foundation
@_exported import LarkspurTransport

#if canImport(FoundationNetworking)
    @_exported import FoundationNetworking
#endif

#if os(Linux)
    @_exported public import LarkspurCurl
#endif
