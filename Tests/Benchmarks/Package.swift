// swift-tools-version:6.0
import PackageDescription

let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v13)],
    dependencies: [.package(name: "Larkspur", path: "../..")],
    targets: [
        .target(name: "CAllocations"),
        .target(name: "CCodings", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
        .target(name: "Measuring", dependencies: ["CAllocations"]),
        // The same requests without a framework: a loop in C over libcurl, and Foundation's own client.
        .executableTarget(name: "floor", cSettings: [.define("_GNU_SOURCE")], linkerSettings: [.linkedLibrary("dl")]),
        // WebSockets without a framework: a server, and the same scenarios as a client.
        .executableTarget(
            name: "websocket-floor", cSettings: [.define("_GNU_SOURCE")],
            linkerSettings: [.linkedLibrary("pthread")]),
        .target(
            name: "CAuthorities", cSettings: [.define("_GNU_SOURCE")], linkerSettings: [.linkedLibrary("dl")]),
        .executableTarget(
            name: "urlsession", dependencies: ["CAuthorities", "Measuring"],
            // Exports the executable's functions, so that libraries call them.
            linkerSettings: [.unsafeFlags(["-Xlinker", "--export-dynamic"], .when(platforms: [.linux]))]),
        .executableTarget(
            name: "instructions",
            dependencies: [
                "Measuring",
                .product(name: "Larkspur", package: "Larkspur"),
                .product(name: "LarkspurTesting", package: "Larkspur"),
                .product(name: "LarkspurInsight", package: "Larkspur"),
            ]),
        .executableTarget(
            name: "bench",
            dependencies: [
                "CAllocations",
                "CCodings",
                "Measuring",
                .product(name: "Larkspur", package: "Larkspur"),
                .product(name: "LarkspurFleet", package: "Larkspur"),
                .product(name: "LarkspurImages", package: "Larkspur"),
                .product(name: "LarkspurInsight", package: "Larkspur"),
                .product(name: "LarkspurTesting", package: "Larkspur"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
