// swift-tools-version:6.2
import PackageDescription

let package = Package(
    name: "Fuzz",
    platforms: [.macOS(.v13)],
    dependencies: [.package(name: "Larkspur", path: "../..")],
    targets: [
        .executableTarget(
            name: "fuzz",
            dependencies: [
                .product(name: "Larkspur", package: "Larkspur"),
                .product(name: "LarkspurImages", package: "Larkspur"),
                .product(name: "LarkspurXML", package: "Larkspur"),
                .product(name: "LarkspurInsight", package: "Larkspur"),
                .product(name: "LarkspurTesting", package: "Larkspur"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
