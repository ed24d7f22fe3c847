// swift-tools-version: 6.2
import PackageDescription

// docs/architecture.md, "Modules", says what each module is and which imports are allowed.
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
let tracing: Target.Dependency = .product(name: "Tracing", package: "swift-distributed-tracing")
let deque: Target.Dependency = .product(name: "DequeModule", package: "swift-collections")
let heap: Target.Dependency = .product(name: "HeapModule", package: "swift-collections")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let yams: Target.Dependency = .product(name: "Yams", package: "Yams")
/// Combine, where the system has none.
let openCombine: Target.Dependency = .product(
    name: "OpenCombine", package: "OpenCombine", condition: .when(platforms: [.linux]))
/// The transports of the SDK. On Apple's systems, apps build neither SwiftNIO nor BoringSSL.
let freshetNIO: Target.Dependency = .target(name: "FreshetNIO", condition: .when(platforms: [.linux]))
let freshetURLSession: Target.Dependency = .target(
    name: "FreshetURLSession",
    condition: .when(platforms: [.iOS, .macOS, .macCatalyst, .tvOS, .visionOS, .watchOS]))
let arguments: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")

/// The folders below `Sources`. A module imports only modules of its own folder and of those above it.
enum Folder: String {
    case languages = "Languages"
    case sdk = "SDK"
    case core = "Core"
    case servers = "Servers"
    case roles = "Roles"
    case tools = "Tools"
    case verification = "Verification"

    func path(of module: String) -> String { "Sources/\(rawValue)/\(module)" }
}

func module(
    _ folder: Folder, _ name: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []
) -> Target {
    .target(
        name: name, dependencies: dependencies, path: folder.path(of: name), exclude: exclude, swiftSettings: settings)
}

func program(_ folder: Folder, _ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, path: folder.path(of: name), swiftSettings: settings)
}

/// The folders below `Tests`; docs/testing.md says which suites stand in which.
enum TestFolder: String {
    /// One module, in this process: no Postgres, no Redis, no other programs.
    case unit = "Unit"
    /// Code held to something outside of it: real servers, several implementations, vectors, tables and pages.
    case contract = "Contract"
    /// Several nodes: as processes with the clients of others, or simulated.
    case integration = "Integration"
}

func tests(
    _ folder: TestFolder, _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = [],
    isOptimised: Bool = false
) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, path: "Tests/\(folder.rawValue)/\(name)", exclude: exclude,
        // Where what is tested is optimised, most tests need not be: they compile in half the time.
        swiftSettings: settings + (isOptimised ? [] : [.unsafeFlags(["-Onone"], .when(configuration: .release))]))
}

let package = Package(
    name: "freshet",
    // Of the SDK. The server is for Linux.
    platforms: [.iOS(.v16), .macOS(.v13), .tvOS(.v16), .watchOS(.v9)],
    products: [
        .executable(name: "freshet", targets: ["freshet"]),
        // The SDK for apps
        .library(name: "FreshetClient", targets: ["FreshetClient"]),
        .library(name: "FreshetObservation", targets: ["FreshetObservation"]),
        .library(name: "FreshetCombine", targets: ["FreshetCombine"]),
        .library(name: "FreshetFirebase", targets: ["FreshetFirebase"]),
        .library(name: "FreshetURLSession", targets: ["FreshetURLSession"]),
        .library(name: "FreshetTesting", targets: ["FreshetTesting"]),
        // For tests and chaos runs: servers whose clocks are wrong.
        .library(name: "WrongClock", type: .dynamic, targets: ["CWrongClock"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.7.3"),
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
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
    ],
    targets: [
        // System libraries
        .systemLibrary(
            name: "CHiredis", path: Folder.servers.path(of: "CHiredis"), providers: [.apt(["libhiredis-dev"])]),
        .systemLibrary(name: "CLinux", path: Folder.servers.path(of: "CLinux")),
        .systemLibrary(
            name: "CZlib", path: Folder.servers.path(of: "CZlib"), pkgConfig: "zlib",
            providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(
            name: "CLibpq", path: Folder.servers.path(of: "CLibpq"), pkgConfig: "libpq",
            providers: [.apt(["libpq-dev"])]),

        // Pure: no sockets, clocks, tasks or await
        module(.languages, "CEL"),
        module(.languages, "GraphQLLanguage"),
        module(.languages, "JSON"),
        module(.languages, "ServerSentEvents"),
        module(.languages, "JSONPatch", ["JSON"]),
        // The SDK for apps: pure modules first, then what has files, sockets and tasks
        module(.sdk, "FreshetTypes", ["JSON"]),
        module(.sdk, "FreshetLink", ["FreshetTypes", "JSON", "JSONPatch", "ServerSentEvents"]),
        module(.sdk, "FreshetStore", ["FreshetTypes", "JSON", crypto]),
        module(.sdk, "FreshetQueue", ["FreshetTypes"]),
        module(
            .sdk, "FreshetSQLite",
            [
                "FreshetQueue", "FreshetStore", "FreshetTypes", "JSON",
                .product(name: "GRDB", package: "GRDB.swift"),
            ]),
        module(.sdk, "FreshetTransport"),
        module(
            .sdk, "FreshetNIO",
            [
                "FreshetTransport", deque, nio, nioPosix, nioHTTP, nioWebSocket,
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
            ]),
        module(.sdk, "FreshetURLSession", ["FreshetTransport"]),
        module(
            .sdk, "FreshetClient",
            [
                "FreshetLink", "FreshetQueue", "FreshetSQLite", "FreshetStore", "FreshetTransport", "FreshetTypes",
                "JSON", freshetNIO, freshetURLSession,
            ]),
        module(.sdk, "FreshetObservation", ["FreshetClient"]),
        module(.sdk, "FreshetCombine", ["FreshetClient", openCombine]),
        module(.sdk, "FreshetFirebase", ["FreshetClient", "FreshetCombine", "FreshetTransport", openCombine]),
        module(.sdk, "FreshetTesting", ["FreshetClient", "FreshetTransport", "JSON"]),
        module(.core, "SeededRandom"),
        module(.core, "LiveModel", ["CEL", "JSON", crypto]),
        module(.core, "SchemaModel", ["CEL", "GraphQLLanguage", "JSON"]),
        module(.core, "Operations", ["CEL", "GraphQLLanguage", "JSON", "LiveModel", "SchemaModel"]),
        module(.core, "QuerySQL", ["JSON", "LiveModel", "Operations", "SchemaModel"]),
        module(.core, "SchemaMigration", ["JSON", "SchemaModel"]),
        module(.core, "SQLDependencies", ["SchemaModel"]),
        module(.core, "SchemaSDL", ["GraphQLLanguage", "JSON", "LiveModel", "Operations", "SchemaModel"]),
        module(
            .core, "Catalog",
            ["GraphQLLanguage", "JSON", "LiveModel", "Operations", "QuerySQL", "Refresh", "SchemaModel", "SchemaSDL"]),
        module(
            .core, "DeploymentPlan",
            ["Catalog", "GraphQLLanguage", "JSON", "LiveModel", "Operations", "SchemaModel"]),
        module(.core, "Pacing"),
        module(.core, "Failover"),
        module(.core, "ChangeCapture", ["JSON", "LiveModel", "SchemaModel"]),
        module(.core, "Inspection", ["JSON", "LiveModel", deque]),
        module(.core, "Refresh", ["CEL", "Inspection", "JSON", "LiveModel", "Pacing", deque, heap]),
        module(.core, "Embeddings", ["Operations", "JSON", "LiveModel", deque]),
        module(
            .core, "Explanation",
            ["Catalog", "Operations", "QuerySQL", "JSON", "LiveModel", "Refresh", "SchemaModel"]),
        module(.core, "Streams", ["LiveModel", "Pacing"]),
        module(.core, "Sharding", ["LiveModel", "Pacing"]),
        module(
            .core, "Sessions",
            ["GraphQLLanguage", "JSON", "JSONPatch", "LiveModel", "Pacing", "Sharding", deque, heap]),
        module(
            .core, "RoleMachines",
            ["ChangeCapture", "Inspection", "LiveModel", "Pacing", "Refresh", "Sessions", "Sharding", "Streams"]),

        // Shells
        // Prints client code for connectors
        module(
            .tools, "CodeGeneration",
            ["Catalog", "GraphQLLanguage", "JSON", "LiveModel", "Operations", "SchemaModel", "SchemaSDL"]),
        module(.tools, "ProjectFolder", ["SchemaModel", yams]),
        module(.servers, "Clocks"),
        module(.servers, "Threads", ["CLinux"]),
        module(.tools, "LocalServers", ["CLibpq", "Clocks", "Pacing", "Threads"]),
        module(.servers, "Postgres", ["CLibpq", "Clocks", "Failover", "Pacing", "Threads", deque, logging]),
        module(
            .servers, "Broker",
            [
                "CHiredis", "Clocks", "Failover", "LiveModel", "Pacing", "Streams", "Threads", nio, nioPosix,
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"), logging,
            ]),
        module(
            .roles, "Execution",
            [
                "Catalog", "Clocks", "DeploymentPlan", "Inspection", "Operations", "QuerySQL", "GraphQLLanguage",
                "JSON", "LiveModel", "Pacing", "Postgres", logging,
            ]),
        // What a node records while operators look
        module(.roles, "Recording", ["Clocks", "Inspection", "JSON", "LiveModel"]),
        // Brings a database to a project's schema
        module(
            .roles, "Migrations",
            [
                "Catalog", "Clocks", "DeploymentPlan", "Execution", "JSON", "LiveModel", "Operations", "Postgres",
                "QuerySQL",
                "Refresh", "SQLDependencies", "SchemaMigration", "SchemaModel", "Settings", logging,
            ]),
        module(
            .servers, "OutboundHTTP",
            [
                nio, nioPosix, nioHTTP, .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]),
        module(
            .roles, "RemoteServices",
            [
                "Clocks", "Operations", "SchemaModel", "Embeddings", "Execution", "LiveModel", "Observability",
                "OutboundHTTP", logging, metrics, tracing,
            ]),
        module(
            .roles, "Deployments",
            [
                "Broker", "Catalog", "Clocks", "DeploymentPlan", "Execution", "LiveModel", "Migrations",
                "Observability", "Operations", "Postgres", "SchemaMigration", "SchemaModel", "Streams", logging,
                metrics,
            ]),
        module(
            .servers, "HTTPServer",
            [
                "CZlib", "Clocks", "Pacing", nio, nioPosix, nioHTTP, nioWebSocket,
                .product(name: "NIOSSL", package: "swift-nio-ssl"), logging,
            ]
        ),
        module(.servers, "GRPC", ["HTTPServer", "Pacing", nio, nioHTTP2, nioHPACK]),
        module(.servers, "Observability", ["CLinux", "Clocks", logging, metrics, tracing]),
        module(
            .servers, "TraceExport",
            [
                "Clocks", "Inspection", "JSON", "LiveModel", "Observability", "OutboundHTTP", "Pacing", logging,
                metrics, tracing,
            ]),
        module(
            .servers, "Settings",
            [
                "Broker", "DeploymentPlan", "Embeddings", "GRPC", "HTTPServer", "Inspection", "LiveModel", "Operations",
                "Postgres", "Refresh", "RoleMachines", "Sessions", "Sharding", "Streams",
                .product(name: "Configuration", package: "swift-configuration"), yams,
            ]),
        module(
            .servers, "Tokens",
            [
                "JSON", "LiveModel", "OutboundHTTP", "Settings", .product(name: "JWTKit", package: "jwt-kit"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]),
        module(.roles, "Cluster", ["Broker", "Streams", "LiveModel", "RoleMachines", "Sharding", logging]),
        module(
            .roles, "APINode",
            [
                "Recording",
                "Broker", "Streams", "Catalog", "Clocks", "Cluster", "Execution", "JSON", "LiveModel", "Observability",
                "Pacing", "Postgres", "RoleMachines", "Sharding", logging, metrics, tracing,
            ]),
        module(
            .roles, "ChangeTailer",
            [
                "APINode", "Broker", "Catalog", "ChangeCapture", "Clocks", "Cluster", "Execution", "LiveModel",
                "Migrations", "Observability", "Postgres", "Recording", "RoleMachines", "Sharding", "Streams", logging,
                metrics,
            ]),
        module(
            .roles, "FanoutWorker",
            [
                "Inspection", "Recording",
                "Broker", "Streams", "Catalog", "Clocks", "Execution", "LiveModel", "Threads", "Postgres",
                "Observability", "Pacing", "Refresh", "RoleMachines", "Sharding", logging, metrics,
            ]),
        module(
            .roles, "Gateway",
            [
                "Inspection", "Recording",
                "Broker", "Streams", "Catalog", "Clocks", "Operations", "Execution", "GRPC", "GraphQLLanguage",
                "HTTPServer", "JSON", "LiveModel", "Observability", "Pacing", "RoleMachines", "Sessions", "Sharding",
                nio, nioPosix,
                nioHTTP, logging, metrics,
            ]),
        module(
            .roles, "PublicAPI",
            [
                "APINode", "Catalog", "Clocks", "Operations", "SchemaSDL", "Execution", "GRPC", "GraphQLLanguage",
                "Gateway", "HTTPServer", "JSON",
                "LiveModel", "Observability", "Recording", "Sessions", nio, nioHTTP, nioHPACK, logging, tracing,
            ]),
        // The console's page: files compiled into the program
        .target(
            name: "Console", dependencies: ["HTTPServer", crypto, nio, nioHTTP], path: Folder.roles.path(of: "Console"),
            resources: [.embedInCode("Files")], swiftSettings: settings),
        module(
            .roles, "Admin",
            [
                "APINode", "Broker", "CEL", "ChangeTailer", "Clocks", "Console", "Explanation", "Inspection",
                "DeploymentPlan", "Deployments", "Recording",
                "SchemaModel", "SchemaSDL", "Sessions", "Streams", "Catalog", "Operations", "Cluster", "PublicAPI",
                "Execution",
                "FanoutWorker",
                "Gateway",
                "HTTPServer", "JSON", "LiveModel", "Observability", "OutboundHTTP", "Pacing", "Postgres", "Refresh",
                "RoleMachines", "ServerSentEvents", "Sharding", "Tokens",
                crypto, nio,
                nioHTTP,
                logging,
            ]),
        module(
            .roles, "Node",
            [
                "Inspection", "Recording",
                "APINode", "Admin", "Broker", "ChangeTailer", "Clocks", "Streams", "Catalog", "Operations",
                "SchemaMigration",
                "SchemaModel",
                "DeploymentPlan", "Deployments", "Migrations", "Cluster", "Embeddings", "PublicAPI",
                "Execution",
                "FanoutWorker", "GRPC", "Gateway", "HTTPServer", "LiveModel", "Observability", "Postgres",
                "Refresh",
                "OutboundHTTP", "Pacing", "RemoteServices", "RoleMachines", "Sessions", "Settings", "Sharding",
                "Tokens", "TraceExport",
                nio, nioPosix, logging,
            ]),
        module(
            .tools, "ProtocolClients",
            [
                "JSON", "LiveModel", "Pacing", nio, nioPosix, nioHTTP, nioWebSocket,
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]),
        module(
            .tools, "LoadDriver",
            [
                "Clocks", "ProtocolClients", "JSON", "Pacing", "SeededRandom", "ServerSentEvents",
                .product(name: "Histogram", package: "hdrhistogram-swift"),
                yams, deque, nio, nioPosix, nioHTTP,
            ]),
        // What `freshet dev` and `freshet cluster` run beside nodes
        module(
            .tools, "DevEnvironment",
            [
                "Catalog", "Clocks", "Deployments", "Execution", "ProtocolClients", "LocalServers", "Migrations",
                "Operations", "Postgres", "SchemaModel", "Settings", logging, nioHTTP,
            ]),
        // What `freshet generate swift` prints for the sample project, as far as the sample app and tests need it
        module(.tools, "AuctionsClient", ["FreshetClient", "FreshetFirebase"], exclude: ["README.md"]),
        program(
            .tools, "auction-watcher",
            ["AuctionsClient", "FreshetClient", arguments]),
        program(
            .tools, "freshet",
            [
                "Admin", "Broker", "Streams", "Catalog", "CodeGeneration", "Inspection", "Operations", "Refresh",
                "SchemaMigration", "SchemaModel", "SchemaSDL", "Clocks", "DeploymentPlan", "Deployments",
                "DevEnvironment", "Execution", "Explanation",
                "ProtocolClients", "JSON", "LiveModel", "LoadDriver", "LocalServers", "Migrations", "Node",
                "Observability", "Postgres", "ProjectFolder", "Settings", arguments, logging, metrics, nioHTTP,
            ]),
        // Benchmarks: `make bench`
        .target(name: "CBroadcaster", path: Folder.verification.path(of: "CBroadcaster")),
        .target(
            name: "CBenchmarks", dependencies: ["CHiredis", "CLibpq"], path: Folder.verification.path(of: "CBenchmarks")
        ),
        module(
            .verification, "Benchmarks",
            [
                "APINode", "AuctionsClient", "Broker", "Clocks", "Streams", "CBenchmarks", "CBroadcaster", "CEL",
                "Catalog",
                "FreshetClient", "FreshetLink", "FreshetSQLite", "FreshetStore", "FreshetTesting", "FreshetTypes",
                "QuerySQL",
                "SchemaMigration", "SchemaModel", "Cluster", "Execution",
                "ProtocolClients", "Migrations",
                "HTTPServer", "Inspection", "JSON", "LiveModel", "LocalServers", "Node", "Observability", "Recording",
                "Threads", "Postgres", "ProjectFolder", "Refresh", "RoleMachines", "SeededRandom", "Settings",
                "Sharding", nio, nioPosix,
                nioHTTP, logging,
                metrics,
            ]),
        program(.verification, "freshet-bench", ["Benchmarks", "freshet", arguments]),
        // Simulation: `make simulate`
        module(.verification, "RedisModel", ["LiveModel", "Streams"]),
        module(
            .verification, "Simulation",
            [
                "CEL", "ChangeCapture", "DeploymentPlan", "Failover", "FreshetLink", "FreshetStore", "FreshetTypes",
                "JSON", "LiveModel", "RedisModel", "Refresh", "RoleMachines", "SchemaModel", "SeededRandom", "Sessions",
                "Sharding", "Streams", deque, heap,
            ]),
        module(.verification, "SimulationCampaign", ["Simulation"]),
        program(.verification, "freshet-simulate", ["Simulation", "SimulationCampaign", arguments]),
        // Faults of real processes: `make chaos`
        .target(name: "CWrongClock", path: Folder.verification.path(of: "CWrongClock")),
        module(
            .verification, "Chaos",
            [
                "Clocks", "ProtocolClients", "JSON", "LoadDriver", "LocalServers", "Postgres", "RoleMachines",
                "SeededRandom", deque, nio,
                nioPosix, nioHTTP, logging,
            ]),
        program(.verification, "freshet-chaos", ["Chaos", "LiveModel", "freshet", arguments]),
        // Tests
        .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: settings),
        // A broker without a server, for tests of the parts that use one
        .target(
            name: "InMemoryBroker", dependencies: ["Broker", "LiveModel", "RedisModel", "Streams"],
            path: "Tests/InMemoryBroker", swiftSettings: settings),
        // The programs of the tutorial in docs/clients/swift.md, without the last, which is auction-watcher
        .executableTarget(
            name: "TutorialSteps", dependencies: ["AuctionsClient", "FreshetClient", arguments],
            path: "Tests/TutorialSteps", swiftSettings: settings),
        // The domain that the tests of catalog and language share
        .target(
            name: "GalleryClient", dependencies: ["FreshetClient", "FreshetFirebase"], path: "Tests/GalleryClient",
            swiftSettings: settings),
        .target(
            name: "LibrarySchema", dependencies: ["Catalog", "SchemaModel"], path: "Tests/LibrarySchema",
            swiftSettings: settings),
        // They compute much themselves.
        tests(.contract, "ArchitectureTests", ["TestSupport"], isOptimised: true),
        tests(.contract, "DocsTests", ["TestSupport"]),
        tests(.unit, "CELTests", ["CEL", "TestSupport"]),
        tests(.unit, "GraphQLLanguageTests", ["GraphQLLanguage", "JSON", "SeededRandom", "TestSupport"]),
        tests(.unit, "JSONTests", ["JSON", "SeededRandom", "TestSupport"]),
        tests(.unit, "ServerSentEventsTests", ["ServerSentEvents"]),
        tests(.unit, "JSONPatchTests", ["JSON", "JSONPatch", "SeededRandom", "TestSupport"]),
        tests(.unit, "PacingTests", ["Pacing"]),
        tests(.unit, "FailoverTests", ["Failover"]),
        tests(
            .unit, "ChangeCaptureTests", ["ChangeCapture", "JSON", "LiveModel", "SchemaModel", "SeededRandom"]),
        tests(.unit, "SQLDependenciesTests", ["SQLDependencies", "SchemaModel"]),
        tests(.unit, "LiveModelTests", ["CEL", "JSON", "LiveModel", "SeededRandom", "TestSupport"]),
        tests(
            .unit, "CatalogTests",
            [
                "CEL", "Catalog", "DeploymentPlan", "Operations", "QuerySQL", "Refresh", "SchemaMigration",
                "SchemaModel", "SchemaSDL",
                "GraphQLLanguage", "JSON", "LibrarySchema", "LiveModel", "ProjectFolder", "TestSupport",
            ]),
        tests(
            .unit, "DeploymentPlanTests", ["Catalog", "DeploymentPlan", "LibrarySchema", "LiveModel", "SchemaModel"]),
        tests(
            .contract, "DeploymentsTests",
            [
                "Catalog", "DeploymentPlan", "Deployments", "Execution", "LiveModel", "LocalServers", "Operations",
                "Postgres", "SchemaModel", "TestSupport", logging,
            ]),
        tests(
            .contract, "LanguageTests",
            [
                "Catalog", "ChangeCapture", "Operations", "QuerySQL", "SchemaMigration", "SchemaModel", "SchemaSDL",
                "Execution", "GraphQLLanguage", "JSON", "LibrarySchema", "LiveModel", "LocalServers", "Migrations",
                "Postgres", "SQLDependencies",
                "ProjectFolder", "Refresh", "SeededRandom", "TestSupport", logging,
            ],
            exclude: ["Golden", "Projects", "VectorProjects"]),
        tests(.unit, "InspectionTests", ["Inspection", "JSON", "LiveModel"]),
        tests(.unit, "RefreshTests", ["CEL", "Inspection", "JSON", "LiveModel", "Refresh", "SeededRandom"]),
        tests(
            .unit, "EmbeddingsTests", ["Operations", "Embeddings", "JSON", "LiveModel", "SeededRandom", "TestSupport"]),
        tests(
            .unit, "OutboundHTTPTests", ["OutboundHTTP", nio, nioPosix]),
        tests(
            .unit, "ExecutionTests",
            [
                "Catalog", "Execution", "JSON", "LiveModel", "Operations", "Postgres", "QuerySQL", "SchemaModel",
                "SeededRandom", logging,
            ]),
        tests(.unit, "ExplanationTests", ["Catalog", "QuerySQL", "SchemaModel", "Explanation", "JSON", "LiveModel"]),
        tests(.unit, "ShardingTests", ["JSON", "LiveModel", "Sharding"]),
        tests(
            .unit, "SessionsTests",
            [
                "GraphQLLanguage", "JSON", "JSONPatch", "LiveModel", "SeededRandom", "Sessions", "Sharding",
                "TestSupport",
            ]),
        tests(
            .contract, "ConformanceTests",
            [
                "CEL", "Catalog", "Operations", "QuerySQL", "SchemaModel", "JSON", "LiveModel", "Refresh",
                "TestSupport",
            ]),
        tests(
            .unit, "RoleMachinesTests",
            [
                "CEL", "ChangeCapture", "JSON", "LiveModel", "Refresh", "RoleMachines", "SchemaModel", "SeededRandom",
                "Sessions", "Sharding", "Streams",
            ]),
        tests(.integration, "SimulationTests", ["Simulation", "SimulationCampaign"]),
        tests(.unit, "ProjectFolderTests", ["SchemaModel", "ProjectFolder", "TestSupport"]),
        tests(
            .contract, "CodeGenerationTests",
            ["Catalog", "CodeGeneration", "JSON", "ProjectFolder", "SchemaModel", "TestSupport"],
            exclude: ["Golden", "Projects", "Stubs"]),
        tests(.unit, "ThreadsTests", ["Threads"]),
        tests(.contract, "LocalServersTests", ["CLibpq", "LocalServers", "TestSupport"]),
        tests(.unit, "PostgresMachinesTests", ["Postgres", "SeededRandom", deque]),
        tests(.contract, "PostgresTests", ["LocalServers", "Postgres", "TestSupport", logging]),
        tests(.unit, "StreamsTests", ["LiveModel", "RedisModel", "SeededRandom", "Streams"]),
        tests(.unit, "BrokerMachinesTests", ["Broker", "LiveModel", "Streams"]),
        tests(
            .contract, "BrokerTests",
            ["Broker", "InMemoryBroker", "LiveModel", "RedisModel", "SeededRandom", "Streams", "TestSupport", logging]),
        tests(
            .unit, "ClusterTests",
            [
                "Broker", "InMemoryBroker", "Streams", "Cluster", "JSON", "LiveModel", "RoleMachines", "Sharding",
                "TestSupport", logging,
            ]),
        tests(
            .unit, "HTTPServerTests",
            [
                "CZlib", "HTTPServer", "LiveModel", "Pacing", "SeededRandom", "TestSupport", nio, nioHTTP, nioWebSocket,
                logging, .product(name: "NIOEmbedded", package: "swift-nio"),
            ]),
        tests(
            .unit, "GRPCTests",
            [
                "GRPC", "HTTPServer", "SeededRandom", "TestSupport", nio, nioPosix, nioHTTP2, nioHPACK,
                .product(name: "NIOEmbedded", package: "swift-nio"),
            ]),
        tests(.unit, "ObservabilityTests", ["Observability", logging, metrics]),
        tests(
            .unit, "TraceExportTests",
            ["Inspection", "JSON", "LiveModel", "Observability", "SeededRandom", "TraceExport", tracing]),
        tests(.unit, "SettingsTests", ["LiveModel", "Settings", "Streams", "TestSupport"]),
        tests(
            .unit, "TokensTests",
            [
                "JSON", "LiveModel", "OutboundHTTP", "Settings", "TestSupport", "Tokens", crypto, nio, nioPosix,
                nioHTTP,
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ]),
        tests(
            .unit, "GatewayTests",
            [
                "Broker", "Catalog", "Execution", "Gateway", "HTTPServer", "InMemoryBroker", "JSON", "LiveModel",
                "RoleMachines", "SchemaModel", "Sessions", "Streams", "TestSupport", nio, nioPosix, logging,
            ]),
        tests(
            .unit, "PublicAPITests",
            [
                "Catalog", "Execution", "HTTPServer", "LiveModel", "PublicAPI", "SchemaModel", "Sessions",
                "TestSupport", nioHTTP,
            ]),
        tests(
            .unit, "AdminTests",
            [
                "Admin", "ChangeTailer", "Console", "HTTPServer", "JSON", "LiveModel", "OutboundHTTP", "Postgres",
                "RoleMachines", "ServerSentEvents", "TestSupport", logging, nio, nioHTTP, nioPosix,
            ]),
        tests(
            .contract, "NodeStartTests",
            [
                "Catalog", "LiveModel", "LocalServers", "Migrations", "Node", "Observability", "Operations", "Postgres",
                "SchemaModel", "Settings", "TestSupport", logging,
            ]),
        tests(
            .unit, "NodeTests",
            [
                "Admin", "Broker", "Catalog", "Deployments", "Embeddings", "FanoutWorker", "GRPC", "HTTPServer",
                "LiveModel", "Node", "Observability", "Operations", "OutboundHTTP", "Postgres", "PublicAPI", "Refresh",
                "RemoteServices",
                "RoleMachines", "SchemaModel", "Sessions", "Settings", "Sharding", "Streams", "TestSupport", "Tokens",
                nioPosix, logging,
            ]),
        tests(
            .unit, "SDKMachinesTests",
            [
                "FreshetLink", "FreshetQueue", "FreshetSQLite", "FreshetStore", "FreshetTypes", "JSON", "JSONPatch",
                "SeededRandom", "TestSupport",
            ]),
        tests(
            .unit, "SDKClientTests",
            [
                "AuctionsClient", "FreshetClient", "FreshetCombine", "FreshetFirebase", "FreshetObservation",
                "FreshetTesting", "FreshetTransport", "JSON", "TestSupport", openCombine,
            ]),
        tests(.unit, "ProtocolClientsTests", ["ProtocolClients", "JSON", nio, nioPosix, nioHTTP, nioWebSocket]),
        tests(
            .unit, "LoadDriverTests",
            [
                "ProtocolClients", "HTTPServer", "JSON", "LoadDriver", "SeededRandom", "TestSupport", nio, nioHTTP,
                logging,
            ]),
        tests(.integration, "ChaosTests", ["Chaos", "LoadDriver", "TestSupport", "freshet", nio, nioPosix]),
        tests(
            .integration, "IntegrationTests",
            [
                "AuctionsClient", "FreshetClient", "FreshetFirebase", "FreshetLink", "FreshetNIO", "FreshetStore",
                "FreshetURLSession",
                "GalleryClient", "SeededRandom",
                "auction-watcher", "TutorialSteps", "APINode", "Broker",
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                "InMemoryBroker", "Streams", "Catalog", "Chaos", "Cluster", "Execution",
                "ProtocolClients", "JSON",
                "Inspection", "LiveModel",
                "LocalServers", "Postgres", "ProjectFolder", "RoleMachines", "Sharding", "TestSupport", "freshet",
                arguments, crypto, nio,
                nioPosix,
                nioHTTP, logging,
            ]),
    ],
    swiftLanguageModes: [.v6]
)
