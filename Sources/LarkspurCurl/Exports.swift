// What every file of this module sees, and with it what that one exports.
@_exported import LarkspurTransport
