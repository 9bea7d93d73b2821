import Larkspur
import LarkspurFleet
import Measuring

// bench pipeline [COUNT] [CONCURRENCY] [--allocations-at-most N]
// bench json|codings FILE
// bench sse|ends|cache-disk|cache-large
// bench cache [hit|miss_not_stored|miss_stored]
// bench cache-folder FOLDER SECONDS
// bench load|cancel|memory|sessions URL [OPTIONS]
// bench store FOLDER [SECONDS]
// bench store redis://…
// bench limits|insight URL [COUNT]
// bench waiting [COUNT] [--bytes-at-most N]
// bench images [COUNT] [--microseconds-at-most N] [--allocations-at-most N]
// bench websocket echo|send|receive|idle|deflate URL SIZE COUNT [CA PORT]
// bench large URL [--times-at-most N]
// bench stream URL [--grows-at-most KIB]
// bench flood NEIGHBOUR [--flood URL]... [--seconds S] [--ca FILE] [--library FILE] [--p99-at-most MS]
// Prints one line of figures: name=value …

let arguments = Array(CommandLine.arguments.dropFirst())
let numbers = arguments.prefix { !$0.hasPrefix("--") }.dropFirst().compactMap { Int($0) }
/// Returns a limit from the command line.
func limit(_ name: String) -> Double? {
    arguments.firstIndex(of: name).flatMap { index in arguments.dropFirst(index + 1).first.flatMap { Double($0) } }
}

/// Returns the store in a folder, or the store at a URL.
func store(_ path: String) throws -> any SharedStore {
    path.contains("://") ? try ValkeyStore(path) : try FileStore(folder: URL(fileURLWithPath: path))
}

switch arguments.first {
case "pipeline":
    let benchmark = PipelineBenchmark(count: numbers.first ?? 200_000, concurrency: numbers.dropFirst().first ?? 1)
    let allocations = try await benchmark.run()
    if let limit = limit("--allocations-at-most"), allocations > limit {
        print("a request makes \(allocations) allocations, the limit is \(limit)")
        exit(1)
    }
case "json", "codings":
    guard let path = arguments.dropFirst().first, let document = FileManager.default.contents(atPath: path) else {
        print("usage: bench \(arguments[0]) FILE")
        exit(2)
    }
    if arguments[0] == "json" {
        try await JSONBenchmark(bytes: document).run()
    } else {
        try await CodingsBenchmark(document: document).run()
    }
case "sse": try await EventsBenchmark().run()
case "cache": try await CacheBenchmark().run(only: arguments.dropFirst().first)
case "cache-disk": try await DiskCacheBenchmark().run()
case "cache-large":
    let growth = try await DiskCacheBenchmark().large()
    if let limit = limit("--grows-at-most"), growth > limit {
        print("the peak of memory grew by \(growth) KiB, the limit is \(limit)")
        exit(1)
    }
case "cache-folder":
    guard let path = arguments.dropFirst().first, let seconds = arguments.dropFirst(2).first.flatMap(Double.init) else {
        print("usage: bench cache-folder FOLDER SECONDS")
        exit(2)
    }
    if try await !CacheFolderStress(folder: URL(fileURLWithPath: path), seconds: seconds).run() { exit(1) }
case "store":
    guard let path = arguments.dropFirst().first else {
        print("usage: bench store FOLDER [SECONDS] | store redis://…")
        exit(2)
    }
    if let seconds = arguments.dropFirst(2).first.flatMap(Double.init) {
        try await StoreStress(folder: URL(fileURLWithPath: path), seconds: seconds).run()
    } else {
        try await StoreStress.measure(try store(path))
    }
case "admissions":
    guard let path = arguments.dropFirst().first else {
        print("usage: bench admissions FOLDER | admissions redis://…")
        exit(2)
    }
    try await AdmissionsBenchmark(store: try store(path)).run()
case "fleet":
    guard arguments.count == 5, let subject = FleetStress.Subject(rawValue: arguments[3]),
        let count = Int(arguments[4])
    else {
        print("usage: bench fleet FOLDER|URL SERVER rates|cache|circuit COUNT")
        exit(2)
    }
    try await FleetStress(store: try store(arguments[1]), server: arguments[2]).run(subject, count: count)
case "tokens":
    guard arguments.count == 5 else {
        print(
            "usage: bench tokens FOLDER|URL SERVER save REFRESH-TOKEN | bench tokens FOLDER|URL SERVER fail|reuse COUNT"
        )
        exit(2)
    }
    let stress = TokenStress(
        store: try store(arguments[1]), server: arguments[2], reuses: arguments[3] == "reuse")
    if arguments[3] == "save" {
        try await stress.save(refreshToken: arguments[4])
    } else {
        try await stress.run(requests: Int(arguments[4]) ?? 1)
    }
case "limits", "insight":
    guard let url = arguments.dropFirst().first else {
        print("usage: bench \(arguments[0]) URL [COUNT]")
        exit(2)
    }
    let count = arguments.dropFirst(2).first.flatMap { Int($0) } ?? 10_000
    if arguments[0] == "limits" {
        try await LimitsBenchmark(url: url, count: count).run()
    } else {
        try await InsightBenchmark(url: url, count: count).run()
    }
case "waiting":
    let bytes = await WaitingBenchmark(count: numbers.first ?? 100_000).run()
    if let limit = limit("--bytes-at-most"), Double(bytes) > limit {
        print("a waiting request has \(bytes) bytes beside its own, the limit is \(limit)")
        exit(1)
    }
case "images":
    let hit = try await ImagesBenchmark(count: numbers.first ?? 1_000_000).run()
    if let limit = limit("--microseconds-at-most"), hit.microseconds > limit {
        print("a hit in the memory cache takes \(hit.microseconds) µs, the limit is \(limit)")
        exit(1)
    }
    if let limit = limit("--allocations-at-most"), hit.allocations > limit {
        print("a hit in the memory cache takes \(hit.allocations) allocations, the limit is \(limit)")
        exit(1)
    }
case "ends": await EndsBenchmark().run(count: 1_000)
case "websocket":
    let rest = Array(arguments.dropFirst())
    guard let scenario = rest.first.flatMap(WebSocketBenchmark.Scenario.init), let benchmark = WebSocketBenchmark(rest)
    else {
        print("usage: bench websocket echo|send|receive|idle|deflate URL SIZE COUNT [CA PORT]")
        exit(2)
    }
    try await benchmark.run(scenario)
case "large":
    guard let plan = Plan(arguments.dropFirst().prefix(1)) else {
        print("usage: bench large URL [--times-at-most N]")
        exit(2)
    }
    let ratio = try await LargeBenchmark(plan: plan).run()
    if let limit = limit("--times-at-most"), ratio > limit {
        print("the peak of memory is \(ratio) times the body, the limit is \(limit)")
        exit(1)
    }
case "stream":
    guard let plan = Plan(arguments.dropFirst().prefix(1)) else {
        print("usage: bench stream URL [--grows-at-most KIB]")
        exit(2)
    }
    let growth = try await StreamBenchmark(plan: plan).run()
    if let limit = limit("--grows-at-most"), growth > limit {
        print("the peak of memory grew by \(growth) KiB, the limit is \(limit)")
        exit(1)
    }
case "duplex":
    guard let benchmark = DuplexBenchmark(Array(arguments.dropFirst())) else {
        print("usage: bench duplex URL MEGABYTES [CA] [--http1] [--grows-at-most KIB]")
        exit(2)
    }
    let growth = try await benchmark.run()
    if let limit = limit("--grows-at-most"), growth > limit {
        print("the peak of memory grew by \(growth) KiB, the limit is \(limit)")
        exit(1)
    }
case "flood":
    guard let benchmark = FloodBenchmark(Array(arguments.dropFirst())) else {
        print("usage: \(FloodBenchmark.usage)")
        exit(2)
    }
    let milliseconds = try await benchmark.run()
    if let limit = limit("--p99-at-most"), milliseconds > limit {
        print("99 of 100 requests take \(milliseconds) ms, the limit is \(limit)")
        exit(1)
    }
case "load", "cancel", "memory", "sessions":
    guard let plan = Plan(arguments.dropFirst()) else {
        print("usage: bench \(arguments[0]) URL \(Plan.options)")
        exit(2)
    }
    switch arguments[0] {
    case "cancel": if await !StressBenchmark(plan).cancel() { exit(1) }
    case "sessions": if await !StressBenchmark(plan).sessions() { exit(1) }
    case "memory": if await !StressBenchmark(plan).memory() { exit(1) }
    default: await LoadBenchmark(plan).run()
    }
default:
    print(
        "usage: bench pipeline [COUNT] [CONCURRENCY] [--allocations-at-most N] | json|codings FILE | sse|ends|cache [SUBJECT]|cache-disk",
        "| cache-folder FOLDER SECONDS | store FOLDER|URL [SECONDS] | admissions FOLDER|URL",
        "| limits|insight URL [COUNT] | waiting [COUNT] | images [COUNT] [--microseconds-at-most N] [--allocations-at-most N]",
        "| websocket echo|send|receive|idle|deflate URL SIZE COUNT [CA PORT]",
        "| flood NEIGHBOUR [--flood URL]... [--seconds S] [--ca FILE] [--library FILE] [--p99-at-most MS]",
        "| large URL [--times-at-most N] | stream URL [--grows-at-most KIB]",
        "| duplex URL MEGABYTES [CA] [--http1] [--grows-at-most KIB] | cache-large [--grows-at-most KIB] | load|cancel|memory|sessions URL \(Plan.options)"
    )
    exit(2)
}
