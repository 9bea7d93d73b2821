// All files of this module, and all modules that import it, see `LarkspurTransport`.
@_exported import LarkspurTransport
