// swift-tools-version:6.2
import PackageDescription

/// An async function runs where its caller does: fewer changes of executor on the way of a request, and none when a
/// main-actor caller awaits a value that is there.
let settings: [SwiftSetting] = [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]

let apple: [Platform] = [.macOS, .macCatalyst, .iOS, .tvOS, .watchOS, .visionOS]

/// The index of a test module leaves out the system's modules, which the compiler would look through for each batch of
/// files: a quarter of the time that the tests' build takes. No product has these modules, so the flag does not keep
/// other packages from depending on this one.
let testSettings: [SwiftSetting] = [.unsafeFlags(["-index-ignore-system-modules"])]

/// Folders and files that a build of `LarkspurTests` leaves out, with commas between them: builds for sanitizers are
/// slow, and need not have tests that are not run with them.
let leftOut = Context.environment["LARKSPUR_TESTS_LEFT_OUT"]?.split(separator: ",").map(String.init) ?? []

let package = Package(
    name: "Larkspur",
    platforms: [.macOS(.v13), .iOS(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    products: [
        .library(name: "Larkspur", targets: ["Larkspur"]),
        .library(name: "LarkspurCore", targets: ["LarkspurCore"]),
        .library(name: "LarkspurWebSocket", targets: ["LarkspurWebSocket"]),
        .library(name: "LarkspurSecurity", targets: ["LarkspurSecurity"]),
        .library(name: "LarkspurFlow", targets: ["LarkspurFlow"]),
        .library(name: "LarkspurTransfers", targets: ["LarkspurTransfers"]),
        .library(name: "LarkspurReachability", targets: ["LarkspurReachability"]),
        .library(name: "LarkspurCombine", targets: ["LarkspurCombine"]),
        .library(name: "LarkspurJSON", targets: ["LarkspurJSON"]),
        .library(name: "LarkspurXML", targets: ["LarkspurXML"]),
        .library(name: "LarkspurInsight", targets: ["LarkspurInsight"]),
        .library(name: "LarkspurFleet", targets: ["LarkspurFleet"]),
        .library(name: "LarkspurImages", targets: ["LarkspurImages"]),
        .library(name: "LarkspurURLSession", targets: ["LarkspurURLSession"]),
        .library(name: "LarkspurCurl", targets: ["LarkspurCurl"]),
        .library(name: "LarkspurTesting", targets: ["LarkspurTesting"]),
    ],
    traits: [
        .default(enabledTraits: ["Foundation"]),
        // The compiler defines the condition `Foundation`. Apple's platforms have the whole of Foundation in any case.
        .trait(
            name: "Foundation",
            description: """
                Members with types of the whole of Foundation, such as URLRequest and InputStream. Without this trait, \
                a program on Linux links FoundationEssentials only.
                """),
    ],
    // Each module depends on those above it alone. The guide "Contributing" says what each holds.
    targets: [
        .target(name: "CLarkspur"),
        // Package API only: users see nothing of it.
        .target(name: "LarkspurBase", dependencies: ["CLarkspur"], swiftSettings: settings),
        .target(name: "LarkspurHTTP", dependencies: ["LarkspurBase"], swiftSettings: settings),
        .target(name: "LarkspurTransport", dependencies: ["LarkspurHTTP"], swiftSettings: settings),
        .target(name: "LarkspurJSON", dependencies: ["CLarkspur", "LarkspurBase"], swiftSettings: settings),
        .target(name: "LarkspurCache", dependencies: ["CLarkspur", "LarkspurTransport"], swiftSettings: settings),
        .target(name: "LarkspurCurl", dependencies: ["CLarkspur", "LarkspurTransport"], swiftSettings: settings),
        .target(name: "LarkspurURLSession", dependencies: ["LarkspurTransport"], swiftSettings: settings),
        // The parts of requests, and errors: no session, and nothing that sends.
        .target(
            name: "LarkspurMessages", dependencies: ["CLarkspur", "LarkspurJSON", "LarkspurTransport"],
            swiftSettings: settings),
        // The framework. It knows no engine, and none of the modules below.
        .target(
            name: "LarkspurCore", dependencies: ["CLarkspur", "LarkspurCache", "LarkspurMessages"],
            swiftSettings: settings),
        .target(name: "LarkspurWebSocket", dependencies: ["CLarkspur", "LarkspurCore"], swiftSettings: settings),
        .target(name: "LarkspurSecurity", dependencies: ["LarkspurCore"], swiftSettings: settings),
        .target(name: "LarkspurFlow", dependencies: ["LarkspurCore"], swiftSettings: settings),
        // On Apple's platforms the system performs background transfers, by URLSession.
        .target(
            name: "LarkspurTransfers",
            dependencies: [
                "LarkspurCore", "LarkspurSecurity",
                .target(name: "LarkspurURLSession", condition: .when(platforms: apple)),
            ],
            swiftSettings: settings),
        .target(name: "LarkspurReachability", dependencies: ["CLarkspur", "LarkspurCore"], swiftSettings: settings),
        .target(name: "LarkspurCombine", dependencies: ["LarkspurCore"], swiftSettings: settings),
        // The umbrella: exports the framework, the modules above and the platform's engine.
        .target(
            name: "Larkspur",
            dependencies: [
                "LarkspurCombine", "LarkspurCore", "LarkspurFlow", "LarkspurReachability", "LarkspurSecurity",
                "LarkspurTransfers",
                "LarkspurWebSocket",
                .target(name: "LarkspurCurl", condition: .when(platforms: [.linux])),
                .target(name: "LarkspurURLSession", condition: .when(platforms: apple)),
            ],
            swiftSettings: settings),
        // Shared by the annexes. Users see nothing of it.
        .target(name: "LarkspurAnnex", dependencies: ["LarkspurBase"], swiftSettings: settings),
        // Annexes use the public API of Larkspur alone, as a module of another package would.
        .target(name: "LarkspurXML", dependencies: ["Larkspur"], packageAccess: false, swiftSettings: settings),
        .target(
            name: "LarkspurInsight", dependencies: ["Larkspur", "LarkspurAnnex"], packageAccess: false,
            swiftSettings: settings),
        .target(name: "CLarkspurFleet"),
        .target(
            name: "LarkspurFleet", dependencies: ["Larkspur", "LarkspurAnnex", "CLarkspurFleet"], packageAccess: false,
            swiftSettings: settings),
        .target(name: "CLarkspurImages"),
        .target(
            name: "LarkspurImages", dependencies: ["Larkspur", "LarkspurAnnex", "CLarkspurImages"],
            packageAccess: false,
            swiftSettings: settings),
        .target(
            name: "LarkspurTesting", dependencies: ["Larkspur", "CLarkspur", "LarkspurInsight"], swiftSettings: settings
        ),
        .target(name: "CTestWidth", path: "Tests/CTestWidth"),
        .target(
            name: "TestSupport", dependencies: ["CTestWidth", "LarkspurBase"], path: "Tests/TestSupport",
            swiftSettings: testSettings),
        .testTarget(
            name: "LarkspurBaseTests", dependencies: ["CTestWidth", "TestSupport", "LarkspurBase"],
            swiftSettings: testSettings),
        .testTarget(
            name: "LarkspurHTTPTests", dependencies: ["CTestWidth", "TestSupport", "LarkspurHTTP"],
            swiftSettings: testSettings),
        .testTarget(
            name: "LarkspurTransportTests", dependencies: ["CTestWidth", "TestSupport", "LarkspurTransport"],
            swiftSettings: testSettings),
        .testTarget(
            name: "LarkspurCacheTests", dependencies: ["CTestWidth", "TestSupport", "LarkspurCache"],
            swiftSettings: testSettings),
        .testTarget(
            name: "LarkspurTests",
            dependencies: [
                "CTestWidth", "TestSupport", "CLarkspur", "Larkspur", "LarkspurJSON", "LarkspurXML", "LarkspurInsight",
                "LarkspurImages", "LarkspurTesting",
            ],
            exclude: leftOut, swiftSettings: testSettings),
        .testTarget(
            name: "LarkspurFleetTests",
            dependencies: [
                "CTestWidth", "TestSupport", "CLarkspurFleet", "LarkspurFleet", "LarkspurAnnex", "LarkspurTesting",
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "LarkspurImagesTests",
            dependencies: [
                "CTestWidth", "TestSupport", "CLarkspurImages", "LarkspurAnnex", "LarkspurImages", "LarkspurTesting",
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "TransportContractTests",
            dependencies: [
                "CTestWidth", "TestSupport", "CLarkspur", "LarkspurTesting", "LarkspurURLSession",
                .target(name: "LarkspurCurl", condition: .when(platforms: [.linux])),
            ],
            swiftSettings: testSettings),
    ],
    swiftLanguageModes: [.v6]
)
