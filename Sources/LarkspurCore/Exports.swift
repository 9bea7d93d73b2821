// Makes the exported modules visible in all files of this module and in all modules that import this module.
@_exported public import LarkspurCache
@_exported import LarkspurMessages
