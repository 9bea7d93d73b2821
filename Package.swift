// swift-tools-version:6.0
import PackageDescription

let package = Package(
    name: "Larkspur",
    platforms: [.macOS(.v13), .iOS(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    products: [
        .library(name: "Larkspur", targets: ["Larkspur"]),
        .library(name: "LarkspurTesting", targets: ["LarkspurTesting"]),
    ],
    targets: [
        .target(name: "LarkspurTransport"),
        .target(name: "Larkspur", dependencies: ["LarkspurTransport"]),
        .target(name: "LarkspurTesting", dependencies: ["Larkspur"]),
        .testTarget(name: "LarkspurTransportTests", dependencies: ["LarkspurTransport"]),
        .testTarget(name: "LarkspurTests", dependencies: ["Larkspur", "LarkspurTesting"]),
        .testTarget(name: "TransportContractTests", dependencies: ["LarkspurTesting"]),
    ],
    swiftLanguageModes: [.v6]
)
