// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "swift-change-feed",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "ChangeFeed", targets: ["ChangeFeed"]),
        .library(name: "ChangeFeedSQLite", targets: ["ChangeFeedSQLite"]),
        .library(name: "SyncEngineCore", targets: ["SyncEngineCore"]),
        .library(name: "ChangeFeedTesting", targets: ["ChangeFeedTesting"]),
        .executable(name: "changefeed", targets: ["ChangeFeedCommand"]),
        .executable(name: "changefeed-benchmarks", targets: ["ChangeFeedBenchmarks"]),
    ],
    targets: [
        .target(name: "ChangeFeed"),
        .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
        .target(name: "ChangeFeedSQLite", dependencies: ["ChangeFeed", "CSQLite"]),
        .target(name: "SyncEngineCore", dependencies: ["ChangeFeed"]),
        .target(name: "ChangeFeedTesting", dependencies: ["ChangeFeed", "SyncEngineCore"]),
        .executableTarget(
            name: "ChangeFeedCommand",
            dependencies: ["ChangeFeed", "ChangeFeedSQLite", "SyncEngineCore", "ChangeFeedTesting"]),
        .executableTarget(
            name: "ChangeFeedBenchmarks", dependencies: ["ChangeFeed", "ChangeFeedSQLite", "SyncEngineCore", "CSQLite"]),
        .testTarget(name: "ChangeFeedTests", dependencies: ["ChangeFeed", "ChangeFeedSQLite"]),
        .executableTarget(
            name: "ChangeFeedCrashChild", dependencies: ["ChangeFeed", "ChangeFeedSQLite"],
            path: "Tests/ChangeFeedCrashChild"),
        .testTarget(
            name: "ChangeFeedSQLiteTests",
            dependencies: ["ChangeFeed", "ChangeFeedSQLite", "ChangeFeedTesting", "ChangeFeedCrashChild", "CSQLite"],
            resources: [.copy("Fixtures")]),
        .testTarget(
            name: "SyncEngineCoreTests", dependencies: ["ChangeFeed", "SyncEngineCore", "ChangeFeedTesting"]),
        .testTarget(
            name: "ChangeFeedTestingTests", dependencies: ["ChangeFeed", "SyncEngineCore", "ChangeFeedTesting"]),
        .testTarget(
            name: "ChangeFeedCommandTests",
            dependencies: [
                "ChangeFeedCommand", "ChangeFeed", "ChangeFeedSQLite", "SyncEngineCore", "ChangeFeedTesting",
            ]),
    ],
    swiftLanguageModes: [.v6]
)
