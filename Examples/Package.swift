// swift-tools-version:6.2
import PackageDescription

let package = Package(
    name: "Examples",
    platforms: [.macOS(.v13)],
    dependencies: [.package(name: "Larkspur", path: "..")],
    targets: [
        "quickstart", "afn-port", "archive", "background", "batch", "chat", "custom-middleware", "download", "duplex",
        "event-stream", "fleet", "gallery", "lark", "metrics", "multipart-upload", "observe", "offline", "pages",
        "pinning",
        "reachability", "redirect-policy", "token-refresh", "typed-endpoints", "typed-errors", "waterfall",
    ].map { name in
        .executableTarget(
            name: name,
            dependencies: [
                .product(name: "Larkspur", package: "Larkspur"),
                .product(name: "LarkspurFleet", package: "Larkspur"),
                .product(name: "LarkspurImages", package: "Larkspur"),
                .product(name: "LarkspurInsight", package: "Larkspur"),
                .product(name: "LarkspurTesting", package: "Larkspur"),
            ])
    },
    swiftLanguageModes: [.v6]
)
