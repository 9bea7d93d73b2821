// swift-tools-version:6.0
import PackageDescription

let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v13)],
    dependencies: [.package(name: "Larkspur", path: "../..")],
    targets: [
        .target(name: "CAllocations"),
        .executableTarget(
            name: "bench",
            dependencies: [
                "CAllocations",
                .product(name: "Larkspur", package: "Larkspur"),
                .product(name: "LarkspurTesting", package: "Larkspur"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
