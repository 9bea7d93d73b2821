import Larkspur
import Measuring

// bench pipeline [COUNT] [CONCURRENCY] [--allocations-at-most N]
// bench json FILE
// bench sse
// bench load|cancel|memory|sessions URL [OPTIONS]
// Prints one line of figures: name=value …

let arguments = Array(CommandLine.arguments.dropFirst())
let numbers = arguments.prefix { !$0.hasPrefix("--") }.dropFirst().compactMap { Int($0) }
let limit = arguments.firstIndex(of: "--allocations-at-most").flatMap { index in
    arguments.dropFirst(index + 1).first.flatMap { Double($0) }
}

switch arguments.first {
case "pipeline":
    let benchmark = PipelineBenchmark(count: numbers.first ?? 200_000, concurrency: numbers.dropFirst().first ?? 1)
    let allocations = try await benchmark.run()
    if let limit, allocations > limit {
        print("a request makes \(allocations) allocations, the limit is \(limit)")
        exit(1)
    }
case "json":
    guard let path = arguments.dropFirst().first, let document = FileManager.default.contents(atPath: path) else {
        print("usage: bench json FILE")
        exit(2)
    }
    try JSONBenchmark(document: document).run()
case "sse": try await EventsBenchmark().run()
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
        "usage: bench pipeline [COUNT] [CONCURRENCY] [--allocations-at-most N] | json FILE | sse",
        "| load|cancel|memory|sessions URL \(Plan.options)")
    exit(2)
}
