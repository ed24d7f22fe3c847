// swift-tools-version: 6.2
import PackageDescription

// Modules are words of the flow; a module imports only what stands above it. README, "Layout".
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

let nio: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioHTTP: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nioWebSocket: Target.Dependency = .product(name: "NIOWebSocket", package: "swift-nio")
let nioHTTP2: Target.Dependency = .product(name: "NIOHTTP2", package: "swift-nio-http2")
let nioHPACK: Target.Dependency = .product(name: "NIOHPACK", package: "swift-nio-http2")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "Metrics", package: "swift-metrics")
let deque: Target.Dependency = .product(name: "DequeModule", package: "swift-collections")
let heap: Target.Dependency = .product(name: "HeapModule", package: "swift-collections")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let yams: Target.Dependency = .product(name: "Yams", package: "Yams")
let arguments: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")

func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: settings)
}

let package = Package(
    name: "freshet",
    products: [
        .executable(name: "freshet", targets: ["freshet"]),
        // For tests and chaos runs: servers whose clocks are wrong.
        .library(name: "WrongClock", type: .dynamic, targets: ["CWrongClock"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: ["YAML"]),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.26.0"),
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
    ],
    targets: [
        // System libraries
        .systemLibrary(name: "CHiredis", providers: [.apt(["libhiredis-dev"])]),
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CLibpq", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),

        // Pure: no sockets, clocks, tasks or await
        module("CEL"),
        module("GraphQLLanguage"),
        module("JSON"),
        module("JSONPatch", ["JSON"]),
        module("SeededRandom"),
        module("LiveModel", ["CEL", "JSON", crypto]),
        module("Catalog", ["CEL", "GraphQLLanguage", "JSON", "LiveModel"]),
        module("Refresh", ["CEL", "JSON", "LiveModel", deque, heap]),
        module("Embedder", ["Catalog", "JSON", "LiveModel", deque]),
        module("Explanation", ["Catalog", "JSON", "LiveModel", "Refresh"]),
        module("Sharding", ["LiveModel"]),
        module("Sessions", ["JSON", "JSONPatch", "LiveModel", heap]),

        // Shells
        module("ProjectFolder", ["Catalog", "GraphQLLanguage", yams]),
        module("OwnThread", ["CLinux"]),
        module("LocalServers", ["CLibpq", "OwnThread"]),
        module("Postgres", ["CLibpq", "OwnThread", deque, logging]),
        module(
            "Broker",
            [
                "CHiredis", "LiveModel", "OwnThread", nio, nioPosix,
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"), logging,
            ]),
        module("Execution", ["Catalog", "GraphQLLanguage", "JSON", "LiveModel", "Postgres"]),
        module(
            "Resolvers",
            [
                "Catalog", "Embedder", "Execution", "LiveModel", nio, nioPosix, nioHTTP,
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"), logging, metrics,
            ]),
        module("Deployments", ["Catalog", "Execution", "LiveModel", "Postgres", logging, metrics]),
        module(
            "HTTPServer",
            [nio, nioPosix, nioHTTP, nioWebSocket, .product(name: "NIOSSL", package: "swift-nio-ssl"), logging]),
        module("GRPC", ["HTTPServer", nio, nioHTTP2, nioHPACK]),
        module("Observability", ["CLinux", logging, metrics]),
        module("Settings", [.product(name: "Configuration", package: "swift-configuration"), yams]),
        module(
            "Tokens",
            [
                "JSON", "LiveModel", "Settings", nio, nioPosix, nioHTTP,
                .product(name: "NIOSSL", package: "swift-nio-ssl"), .product(name: "JWTKit", package: "jwt-kit"),
            ]),
        module("Directory", ["Broker", "LiveModel", "Sharding"]),
        module(
            "APINode",
            [
                "Broker", "Catalog", "Directory", "Execution", "JSON", "LiveModel", "Postgres", "Sharding", logging,
                metrics,
            ]),
        module(
            "FanoutWorker",
            [
                "Broker", "Catalog", "Execution", "JSON", "LiveModel", "OwnThread", "Postgres", "Refresh", "Sharding",
                logging, metrics,
            ]),
        module(
            "Gateway",
            [
                "Broker", "Catalog", "Execution", "GRPC", "GraphQLLanguage", "HTTPServer", "JSON", "LiveModel",
                "Sessions", nio,
                nioPosix,
                nioHTTP, logging, metrics,
            ]),
        module(
            "Endpoint",
            [
                "APINode", "Catalog", "Execution", "GRPC", "GraphQLLanguage", "Gateway", "HTTPServer", "JSON",
                "LiveModel", "Observability", "Sessions", nio, nioHTTP, nioHPACK, logging, metrics,
            ]),
        module(
            "Admin",
            [
                "APINode", "Broker", "Catalog", "Directory", "Endpoint", "Execution", "FanoutWorker", "Gateway",
                "HTTPServer", "JSON", "LiveModel", "Observability", "Refresh", "Sharding", crypto, nio, nioHTTP,
                logging,
            ]),
        module(
            "Node",
            [
                "APINode", "Admin", "Broker", "Catalog", "Deployments", "Directory", "Embedder", "Endpoint",
                "Execution",
                "FanoutWorker", "GRPC", "Gateway", "HTTPServer", "LiveModel", "Observability", "Postgres", "Refresh",
                "Resolvers", "Sessions", "Settings", "Sharding",
                "Tokens",
                nio, nioPosix, logging,
            ]),
        module(
            "FreshetClient",
            [
                "JSON", "LiveModel", nio, nioPosix, nioHTTP, nioWebSocket,
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]),
        module(
            "LoadDriver",
            [
                "FreshetClient", "JSON", "SeededRandom", .product(name: "Histogram", package: "hdrhistogram-swift"),
                yams, deque, nio, nioPosix, nioHTTP,
            ]),
        .executableTarget(
            name: "freshet",
            dependencies: [
                "Broker", "Catalog", "Deployments", "Execution", "Explanation", "FreshetClient", "JSON", "LiveModel",
                "LoadDriver", "LocalServers", "Node", "Observability", "Postgres",
                "ProjectFolder", "Settings", arguments, logging, metrics, nioHTTP,
            ],
            swiftSettings: settings),
        // Benchmarks: `make bench`
        .target(name: "CBroadcaster"),
        .target(name: "CBenchmarks", dependencies: ["CHiredis", "CLibpq"]),
        module(
            "Benchmarks",
            [
                "APINode", "Broker", "CBenchmarks", "CBroadcaster", "CEL", "Catalog", "Directory", "Execution",
                "FreshetClient",
                "HTTPServer", "JSON", "LiveModel", "LocalServers", "Node", "Observability", "OwnThread", "Postgres",
                "ProjectFolder", "Refresh", "SeededRandom", "Settings", "Sharding", nio, nioPosix, nioHTTP, logging,
                metrics,
            ]),
        .executableTarget(name: "freshet-bench", dependencies: ["Benchmarks", arguments], swiftSettings: settings),
        // Simulation: `make simulate`
        module(
            "Simulation",
            [
                "APINode", "Broker", "CEL", "FanoutWorker", "JSON", "LiveModel", "Refresh", "SeededRandom", "Sessions",
                "Sharding",
            ]),
        .executableTarget(name: "freshet-simulate", dependencies: ["Simulation", arguments], swiftSettings: settings),
        // Faults of real processes: `make chaos`
        .target(name: "CWrongClock"),
        module(
            "Chaos",
            [
                "FreshetClient", "JSON", "LoadDriver", "LocalServers", "Postgres", "SeededRandom", deque, nio, nioPosix,
                nioHTTP, logging,
            ]),
        .executableTarget(
            name: "freshet-chaos", dependencies: ["Chaos", "freshet", arguments], swiftSettings: settings),
        // Tests mirror Sources
        .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: settings),
        tests("CELTests", ["CEL"]),
        tests("GraphQLLanguageTests", ["GraphQLLanguage", "JSON", "SeededRandom"]),
        tests("JSONTests", ["JSON", "SeededRandom"]),
        tests("JSONPatchTests", ["JSON", "JSONPatch", "SeededRandom", "TestSupport"]),
        tests("LiveModelTests", ["CEL", "JSON", "LiveModel"]),
        tests("CatalogTests", ["CEL", "Catalog", "GraphQLLanguage", "JSON", "LiveModel", "ProjectFolder"]),
        tests(
            "LanguageTests",
            [
                "Catalog", "Execution", "GraphQLLanguage", "JSON", "LiveModel", "LocalServers", "Postgres",
                "ProjectFolder", "SeededRandom", logging,
            ],
            exclude: ["Golden"]),
        tests("RefreshTests", ["CEL", "JSON", "LiveModel", "Refresh", "SeededRandom"]),
        tests("EmbedderTests", ["Catalog", "Embedder", "JSON", "LiveModel", "SeededRandom", "TestSupport"]),
        tests(
            "ResolversTests",
            ["Catalog", "Embedder", "LiveModel", "Resolvers", nio, nioPosix, logging]),
        tests("ExplanationTests", ["Catalog", "Explanation", "JSON", "LiveModel"]),
        tests("ShardingTests", ["JSON", "LiveModel", "Sharding"]),
        tests("SessionsTests", ["JSON", "JSONPatch", "LiveModel", "SeededRandom", "Sessions", "TestSupport"]),
        tests("ConformanceTests", ["CEL", "Catalog", "FanoutWorker", "JSON", "LiveModel", "Refresh"]),
        tests("FanoutWorkerTests", ["Broker", "FanoutWorker", "JSON", "LiveModel", "Refresh", "SeededRandom"]),
        tests("SimulationTests", ["Simulation"]),
        tests("APINodeTests", ["APINode", "LiveModel", "Sharding"]),
        tests("ProjectFolderTests", ["Catalog", "ProjectFolder"]),
        tests("OwnThreadTests", ["OwnThread"]),
        tests("LocalServersTests", ["CLibpq", "LocalServers"]),
        tests("PostgresTests", ["LocalServers", "Postgres", "TestSupport", logging]),
        tests("BrokerTests", ["Broker", "LiveModel", "SeededRandom", "TestSupport", logging]),
        tests("DirectoryTests", ["Broker", "Directory", "JSON", "LiveModel"]),
        tests("HTTPServerTests", ["HTTPServer", "LiveModel", nio, nioPosix, nioHTTP, nioWebSocket, logging]),
        tests(
            "GRPCTests",
            [
                "GRPC", "HTTPServer", "SeededRandom", "TestSupport", nio, nioHTTP2, nioHPACK,
                .product(name: "NIOEmbedded", package: "swift-nio"),
            ]),
        tests("ObservabilityTests", ["Observability", logging, metrics]),
        tests("SettingsTests", ["Settings"]),
        tests(
            "TokensTests",
            [
                "JSON", "LiveModel", "Settings", "Tokens", crypto, nio, nioPosix, nioHTTP,
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
            ]),
        tests(
            "GatewayTests",
            ["Broker", "Execution", "Gateway", "HTTPServer", "LiveModel", "Sessions", nio, nioPosix, logging]),
        tests("EndpointTests", ["Endpoint", "Gateway", "JSON", "LiveModel", nio, nioPosix]),
        tests("AdminTests", ["Admin"]),
        tests("NodeTests", ["Node", "Settings"]),
        tests("FreshetClientTests", ["FreshetClient", "JSON", nio, nioPosix, nioHTTP, nioWebSocket]),
        tests(
            "LoadDriverTests",
            ["FreshetClient", "HTTPServer", "JSON", "LoadDriver", "SeededRandom", nio, nioHTTP, logging]),
        tests("ChaosTests", ["Chaos", "freshet", nio, nioPosix]),
        tests(
            "IntegrationTests",
            [
                "APINode", "Broker", "Catalog", "Chaos", "Directory", "Execution", "FreshetClient", "JSON", "LiveModel",
                "LocalServers", "Postgres", "ProjectFolder", "Sharding", "TestSupport", "freshet", crypto, nio,
                nioPosix,
                nioHTTP, logging,
            ], exclude: ["Python"]),
    ],
    swiftLanguageModes: [.v6]
)
