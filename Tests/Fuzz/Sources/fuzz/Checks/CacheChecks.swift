import Foundation

@testable import LarkspurCache
@testable import LarkspurTransport

/// Checks the values of `Cache-Control` fields, one a line.
func checkCacheControl(_ bytes: [UInt8]) throws {
    let lines = bytes.split(separator: 0x0A).prefix(8).map { String(decoding: $0, as: UTF8.self) }
    let control = CacheControl(lines)
    for time in [control.maxAge, control.sharedMaxAge, control.minFresh, control.staleIfError] {
        try require(time.map { $0 >= 0 && $0 <= CacheControl.limit } ?? true, "times are in a safe range")
    }
    let more = CacheControl(lines + ["no-store, max-age=1"])
    try require(more.noStore && more.maxAge.map { $0 <= 1 } == true, "a stricter directive is never lost")
    try require(!control.noCache || more.noCache, "a further field takes no directive back")
    // Each line is also a response of its own, whose freshness is calculated.
    let rules = CacheRules(HTTPCache.Options())
    for line in lines {
        let head = ResponseHead(
            status: 200, version: "HTTP/2", fields: [HTTPHeader(name: "Cache-Control", value: line)])
        let stored = StoredHead(
            url: "http://h/", partition: "", selection: Selection(names: [], values: []), head: head, requested: 0,
            received: 0)
        let lifetime = rules.lifetime(of: stored)
        try require(lifetime >= 0 && lifetime <= CacheControl.limit, "a lifetime is in a safe range")
        for age in [0.0, 60, 1e9] {
            let decision = rules.decide(stored, control, CacheInstructions(), at: age)
            guard case .serve(let outcome, _) = decision, case .hit = outcome else { continue }
            try require(age < lifetime && !stored.control.noCache, "a hit is fresh")
        }
    }
}

/// Checks bytes as the file of an entry. If the first byte is odd, the others are the contents of a sealed record, so
/// that the checksum does not keep the fuzzer from the code behind it.
func checkEntries(_ bytes: [UInt8]) throws {
    let content = Array(bytes.dropFirst())
    _ = content.withUnsafeBytes { DiskVariants($0) }
    if let record = content.withUnsafeBytes({ DiskRecord($0) }) {
        try require(record.bytes == content, "a record is written as it was read")
    }
    var file = content
    if bytes.first.map({ $0 & 1 == 1 }) == true {
        file = DiskFormat.preamble(7)
        let block = [UInt8]("body".utf8)
        file += block
        file.append(integer: block.withUnsafeBytes { DiskFormat.checksum($0, 0, 7) })
        file += DiskFormat.sealed(content, 7)
    }
    let path = NSTemporaryDirectory() + "larkspur-entry-\(getpid())-\(UInt64.random(in: .min ... .max))"
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    try require(descriptor >= 0, "a temporary file can be created")
    unlink(path)
    let opened = DiskFile(descriptor)
    try opened.write(file, at: 0)
    guard let entry = DiskEntry(opened, path, size: UInt64(file.count)) else { return }
    try require(entry.end <= entry.size, "the body is within the file")
    let length = entry.body.map { UInt64($0.count) }
    try require(length ?? entry.record.count == entry.record.count, "a body has its length")
    try require(abs(entry.record.received) < 1e12 && entry.record.initialAge >= 0, "times are in a safe range")
    _ = entry.record.stored(partition: "", Selection(names: entry.record.selection.names, in: [])).served(age: 1)
}
