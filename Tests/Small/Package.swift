// swift-tools-version:6.2
import PackageDescription

// A package that depends on the small build of Larkspur, without the trait `Foundation`.
let package = Package(
    name: "Small",
    platforms: [.macOS(.v13)],
    dependencies: [.package(name: "Larkspur", path: "../..", traits: [])],
    targets: [
        .executableTarget(name: "small", dependencies: [.product(name: "Larkspur", package: "Larkspur")]),
        .executableTarget(
            name: "check",
            dependencies: [
                .product(name: "Larkspur", package: "Larkspur"),
                .product(name: "LarkspurInsight", package: "Larkspur"),
                .product(name: "LarkspurTesting", package: "Larkspur"),
                .product(name: "LarkspurXML", package: "Larkspur"),
            ]),
        .target(
            name: "all",
            dependencies: [
                "Larkspur", "LarkspurCurl", "LarkspurFleet", "LarkspurImages", "LarkspurInsight", "LarkspurTesting",
                "LarkspurURLSession", "LarkspurXML",
            ].map { .product(name: $0, package: "Larkspur") }),
    ],
    swiftLanguageModes: [.v6]
)
