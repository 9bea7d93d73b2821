import Larkspur

// bench SCENARIO [COUNT] [CONCURRENCY]
// Prints one line for each figure: scenario=… metric=… value=…

let arguments = Array(CommandLine.arguments.dropFirst())
let scenario = arguments.first ?? ""
let numbers = arguments.dropFirst().compactMap { Int($0) }

switch scenario {
case "pipeline":
    try await PipelineBenchmark(count: numbers.first ?? 200_000, concurrency: numbers.dropFirst().first ?? 8).run()
default:
    print("usage: bench pipeline [COUNT] [CONCURRENCY]")
    exit(2)
}
