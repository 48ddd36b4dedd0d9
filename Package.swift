// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "swift-change-feed",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "ChangeFeed", targets: ["ChangeFeed"]),
        .executable(name: "changefeed", targets: ["ChangeFeedCommand"]),
        .executable(name: "changefeed-benchmarks", targets: ["ChangeFeedBenchmarks"]),
    ],
    targets: [
        .target(name: "ChangeFeed"),
        .executableTarget(name: "ChangeFeedCommand", dependencies: ["ChangeFeed"]),
        .executableTarget(name: "ChangeFeedBenchmarks", dependencies: ["ChangeFeed"]),
        .testTarget(name: "ChangeFeedTests", dependencies: ["ChangeFeed"]),
        .testTarget(name: "ChangeFeedCommandTests", dependencies: ["ChangeFeedCommand"]),
    ],
    swiftLanguageModes: [.v6]
)
