import Larkspur
import Measuring

// bench pipeline [COUNT] [CONCURRENCY] [--allocations-at-most N]
// bench json|codings FILE
// bench sse|ends|cache-disk|cache-large
// bench cache [hit|miss_not_stored|miss_stored]
// bench cache-folder FOLDER SECONDS
// bench load|cancel|memory|sessions URL [OPTIONS]
// bench limits URL [COUNT]
// bench waiting [COUNT]
// bench websocket echo|send|receive|idle|deflate URL SIZE COUNT [CA PORT]
// bench large URL [--times-at-most N]
// bench stream URL [--grows-at-most KIB]
// Prints one line of figures: name=value …

let arguments = Array(CommandLine.arguments.dropFirst())
let numbers = arguments.prefix { !$0.hasPrefix("--") }.dropFirst().compactMap { Int($0) }
/// Returns a limit from the command line.
func limit(_ name: String) -> Double? {
    arguments.firstIndex(of: name).flatMap { index in arguments.dropFirst(index + 1).first.flatMap { Double($0) } }
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
case "cache-large": try await DiskCacheBenchmark().large()
case "cache-folder":
    guard let path = arguments.dropFirst().first, let seconds = arguments.dropFirst(2).first.flatMap(Double.init) else {
        print("usage: bench cache-folder FOLDER SECONDS")
        exit(2)
    }
    if try await !CacheFolderStress(folder: URL(fileURLWithPath: path), seconds: seconds).run() { exit(1) }
case "limits":
    guard let url = arguments.dropFirst().first else {
        print("usage: bench limits URL [COUNT]")
        exit(2)
    }
    try await LimitsBenchmark(url: url, count: arguments.dropFirst(2).first.flatMap { Int($0) } ?? 10_000).run()
case "waiting": await WaitingBenchmark(count: numbers.first ?? 100_000).run()
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
        "| cache-folder FOLDER SECONDS",
        "| limits URL [COUNT] | waiting [COUNT]",
        "| websocket echo|send|receive|idle|deflate URL SIZE COUNT [CA PORT]",
        "| large URL [--times-at-most N] | stream URL [--grows-at-most KIB] | load|cancel|memory|sessions URL \(Plan.options)"
    )
    exit(2)
}
