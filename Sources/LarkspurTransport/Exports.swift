// All files of this module, and all modules that import it, see `LarkspurHTTP`.
@_exported import LarkspurHTTP
