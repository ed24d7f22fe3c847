import Admin
import Broker
import Catalog
import Deployments
import Embeddings
import FanoutWorker
import Foundation
import GRPC
import HTTPServer
import Logging
import NIOPosix
import Observability
import Operations
import OutboundHTTP
import Postgres
import PublicAPI
import Refresh
import RemoteServices
import RoleMachines
import SchemaModel
import Sessions
import TestSupport
import Testing

@testable import Node
@testable import Settings
@testable import Tokens

/// Every setting changes something. A setting that is declared and documented but not connected fails by its name.
@Suite struct SettingEffectsTests {
    /// Settings that change none of the configurations below, each with the files that use it: a source file that reads
    /// it, or a test that changes it and observes the effect.
    private static let elsewhere: [String: String] = [
        // Settings of commands; the tool that deploys or migrates has no node.
        "drain.graceMs": "Sources/Tools/freshet",
        "deploy.historyMax": "Sources/Tools/freshet",
        "deploy.lockTimeoutMs": "Sources/Roles/Migrations",
        "migrate.lockTimeoutMs": "Sources/Roles/Migrations",
        "migrate.lockPauseMs": "Sources/Roles/Migrations",
        "migrate.lockTotalMs": "Sources/Roles/Migrations",
        "migrate.waitMs": "Sources/Roles/Migrations",
        "log.format": "Sources/Tools/freshet",
        "api.queryBatchMax": "Sources/Roles/Node",
        // Observed by tests of whole nodes.
        "auth.issuersFile": "Tests/Contract/NodeStartTests/StartFailureTests.swift",
        "cluster.startWaitMs": "Tests/Integration/IntegrationTests/StartTests.swift",
        "http.eventLoops": "Tests/Integration/IntegrationTests/StartTests.swift",
        "http.tls.certificateFile": "Tests/Integration/IntegrationTests/TLSTests.swift",
        "http.tls.keyFile": "Tests/Integration/IntegrationTests/TLSTests.swift",
        "http.tls.pollMs": "Tests/Integration/IntegrationTests/TLSTests.swift",
        "postgres.replicaWaitMs": "Tests/Integration/IntegrationTests/PostgresFailoverTests.swift",
        "api.requestsInFlightMax": "Tests/Integration/IntegrationTests/QuotaLimitTests.swift",
        "auth.apiKeysFile": "Tests/Integration/IntegrationTests/RevocationTests.swift",
        "auth.apiKeyRequired": "Tests/Integration/IntegrationTests/RevocationTests.swift",
        "auth.filesPollMs": "Tests/Integration/IntegrationTests/RevocationTests.swift",
        "admin.host": "Tests/Integration/IntegrationTests/NginxTests.swift",
        "admin.port": "Tests/Integration/IntegrationTests/StartTests.swift",
        "admin.token": "Tests/Integration/IntegrationTests/AdministratorTests.swift",
        "admin.auth.mode": "Tests/Integration/IntegrationTests/AdminAccessTests.swift",
        "admin.auth.issuer": "Tests/Integration/IntegrationTests/AdminAccessTests.swift",
        "admin.auth.audience": "Tests/Integration/IntegrationTests/AdminAccessTests.swift",
        "admin.auth.jwksFile": "Tests/Integration/IntegrationTests/AdminAccessTests.swift",
        "admin.auth.jwksUrl": "Tests/Integration/IntegrationTests/AdminAccessTests.swift",
        "gateway.invalidationsMax": "Tests/Integration/IntegrationTests/SwiftSDKTests.swift",
        "gateway.invalidationsPollMs": "Tests/Integration/IntegrationTests/SwiftSDKTests.swift",
        "admin.rule": "Tests/Integration/IntegrationTests/AdminAccessTests.swift",
        "admin.writeRule": "Tests/Integration/IntegrationTests/AdminAccessTests.swift",
        "outbox.kind": "Tests/Integration/IntegrationTests/EventLogTests.swift",
        "tailer.slot": "Tests/Integration/IntegrationTests/DatabaseLogTests.swift",
        "drain.delayMs": "Tests/Integration/IntegrationTests/ClusterTests.swift",
        "drain.sessionsMs": "Tests/Integration/IntegrationTests/OperatorTests.swift",
        "log.level": "Tests/Integration/IntegrationTests/ToolTests.swift",
        "dev.dataDirectory": "Tests/Integration/IntegrationTests/DevTests.swift",
    ]

    /// Values that the settings' form asks for.
    private static let wellFormed: [String: SettingValue] = [
        "http.trustedProxies": .stringList(["10.0.0.0/8"]),
        "redis.url": .string("redis://elsewhere:1"),
        "redis.sentinel.addresses": .stringList(["elsewhere:1"]),
        "redis.cluster.addresses": .stringList(["elsewhere:1"]),
        "embeddings.models": .stringList(["a=b"]),
    ]

    /// Settings of which some have an effect only in the company of others.
    private static let contexts: [Settings] = {
        var plain = Settings()
        plain.postgres.url = "host=/tmp"
        // Otherwise generated, so that no two are the same.
        plain.cluster.nodeId = "node"
        plain.embeddings.url = "http://localhost"
        plain.trace.otlpUrl = "http://localhost"
        plain.auth.mode = .hs256
        var secure = plain
        secure.redis.url = "rediss://localhost"
        secure.redis.sentinelAddresses = ["sentinel:1"]
        secure.postgres.replicas = ["host=/tmp"]
        secure.auth.mode = .jwks
        secure.auth.jwksUrl = "https://localhost"
        var firebase = plain
        firebase.auth.mode = .firebase
        return [plain, secure, firebase]
    }()

    @Test func everySettingHasAnEffect() throws {
        let before = try Self.contexts.map(Self.configurations)
        for key in SettingTable.keys {
            let isElsewhere = Self.elsewhere[key.path] != nil
            let hasEffect = try zip(Self.contexts, before).contains { context, before in
                var settings = context
                settings.set(Self.changed(key, in: context), for: key)
                return try Self.configurations(settings) != before
            }
            #expect(hasEffect != isElsewhere, "\(key.path) \(hasEffect ? "needs no exception" : "changes nothing")")
        }
    }

    @Test func exceptionsAreUsedWhereTheySay() throws {
        let paths = Set(SettingTable.keys.map(\.path))
        let members = Dictionary(
            uniqueKeysWithValues: SettingTable.declared.flatMap { section in
                section.settings.map { ($0.key.path, (section: section.name, member: $0.member)) }
            })
        for (path, place) in Self.elsewhere {
            #expect(paths.contains(path), "\(path) is no setting")
            guard let (section, member) = members[path] else { continue }
            if place.hasSuffix(".swift") {
                #expect(try Self.text(ofFile: place).contains(path), "\(path): \(place)")
            } else {
                // `settings.section.member`, or `.section` once and `.member` of what it was assigned to.
                let assigned = try Regex("settings\\.\(section)\\b|\(section.capitalized)Section>")
                    .wordBoundaryKind(.simple)
                let used = try Regex("\\.\(member)\\b").wordBoundaryKind(.simple)
                let isRead = try Self.sources(below: place).contains { text in
                    text.contains(".\(section).\(member)")
                        || text.firstMatch(of: assigned) != nil && text.firstMatch(of: used) != nil
                }
                #expect(isRead, "\(path) is not read below \(place)")
            }
        }
    }

    /// The defaults of settings are those that the parts state (`Parts`), so each reaches its own part unchanged. Left
    /// out is what names a node or an address, and the numbers of connections to Postgres, which depend on the roles.
    @Test func partsHaveTheDefaultsOfTheSettings() throws {
        var settings = Settings()
        settings.cluster.nodeId = "node"
        settings.redis.url = "redis://localhost"
        let node = try Self.node(settings, isDevelopment: false)
        var http = HTTPServerConfiguration()
        http.port = settings.http.port
        http.compression = CompressionConfiguration()
        http.pendingBytesMax = node.httpConfiguration.pendingBytesMax
        let configured = node.postgresConfiguration("")
        var postgres = PostgresConfiguration(connectionString: "")
        postgres.readConnections = configured.readConnections
        postgres.refreshConnections = configured.refreshConnections
        postgres.moderateReadConnections = configured.moderateReadConnections
        postgres.slowReadConnections = configured.slowReadConnections
        postgres.slowRefreshConnections = configured.slowRefreshConnections
        postgres.slowWriteConnections = configured.slowWriteConnections
        postgres.applicationName = configured.applicationName
        // A machine by itself verifies nothing.
        var worker = FanoutWorker.Settings()
        worker.refresh.verifyPerSecond = settings.worker.verifyPerSecond
        let parts: [(any Sendable, any Sendable)] = [
            (node.publisherSettings, PublisherMachine.Settings()), (node.sweeperSettings, SweeperMachine.Settings()),
            (node.tailerSettings, TailerMachine.Settings()),
            (node.tailerStreamSettings, ReplicationStream.Settings()),
            (node.embeddingSettings, EmbeddingSettings()),
            (node.gatewaySettings, GatewayMachine.Settings()), (node.workerSettings, worker),
            (node.deploymentSettings, DeploymentWatch.Settings(pollMs: settings.deploy.pollMs)),
            (node.publicAPISettings.session, SessionLimits()),
            (node.membershipSettings, MembershipMachine.Settings()),
            (node.peerSettings, PeerReports.Settings()),
            (node.quotaLimits, QuotaLimits()), (node.sessionAdmission, SessionAdmission()),
            (node.httpConfiguration, http), (node.grpcConfiguration, GRPCConfiguration()), (configured, postgres),
            (try ServiceNode.redisConfiguration(settings), try RedisConfiguration(url: "redis://localhost")),
        ]
        for (configured, standard) in parts {
            #expect(Self.text(configured) == Self.text(standard), "\(type(of: standard))")
        }
    }

    // MARK: What settings configure

    /// All that settings become before anything is opened, as text.
    private static func configurations(_ settings: Settings) throws -> [[String]] {
        let node = try node(settings)
        var texts = [
            text(node.publisherSettings), text(node.sweeperSettings), text(node.tailerSettings),
            text(node.idempotencySettings), text(node.idempotencySweepSettings),
            text(node.tailerStreamSettings),
            text(node.resolverSettings),
            text(node.embeddingEndpoint as Any), text(node.connectionsPerHostMax), text(node.embeddingSettings),
            text(node.gatewaySettings), text(node.workerSettings), text(node.membershipSettings),
            text(node.deploymentSettings),
            text(node.publicAPISettings), text(node.quotaLimits), text(node.sessionAdmission),
            text(node.grpcConfiguration), text(node.httpConfiguration), text(node.id),
            text(node.postgresConfiguration(settings.postgres.url ?? "")),
            text(node.replicaConfigurations),
            text(try ServiceNode.redisConfiguration(settings)), text(try node.keys()), text(node.streamLengths),
            text(node.deltaCache), text(node.variableLimits), text(node.revocationSettings),
            text(node.advertisedAddress(port: 1)), text(node.peerSettings), text(node.recorderSettings),
            text(node.reportStreamsMax),
            text(node.traceExportSettings as Any),
        ]
        let policy = TokenPolicy(settings.auth, downloads)
        switch policy.trust {
        case .nothing, .secret: texts.append(text(policy))
        case .keySet(let source):
            // The rest of a source is a closure.
            texts.append([source.name])
            var rest = policy
            rest.trust = .nothing
            texts.append(text(rest))
        }
        return texts
    }

    /// A line for each member, however deep; those of sets and dictionaries in order.
    private static func text(_ value: Any, _ path: String = "") -> [String] {
        let mirror = Mirror(reflecting: value)
        guard !mirror.children.isEmpty else { return ["\(path) \(value)"] }
        let lines = mirror.children.enumerated().map { index, child in
            let isSorted = mirror.displayStyle == .set || mirror.displayStyle == .dictionary
            return text(child.value, path + "." + (isSorted ? "" : child.label ?? "\(index)"))
        }
        return lines.sorted { $0[0] < $1[0] }.flatMap(\.self)
    }

    private static func text(ofFile path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    private static func sources(below folder: String) throws -> [String] {
        let files = FileManager.default.enumerator(at: root.appending(path: folder), includingPropertiesForKeys: nil)
        return try (files?.allObjects as? [URL] ?? []).filter { $0.pathExtension == "swift" }
            .map { try String(contentsOf: $0, encoding: .utf8) }
    }

    private static let root = URL(filePath: Repository.root)

    /// Downloads that never begin: key sources are only named.
    private static let downloads = KeyDownloads(HTTPSender(group: .singleton, connectionsPerHostMax: 1))

    private static func node(_ settings: Settings, isDevelopment: Bool = true) throws -> NodeContext {
        ServiceNode(
            settings: settings, catalog: emptyCatalog, metrics: PrometheusMetrics(), isDevelopment: isDevelopment,
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        ).context
    }

    private static let emptyCatalog = try! Catalog.compile(
        Project(serviceID: "test", location: "here", schemaFiles: [], connectors: []))

    private static func changed(_ key: SettingKey, in settings: Settings) -> SettingValue {
        if let value = wellFormed[key.path] { return value }
        switch (key.standard, key.allowed) {
        case (.bool, _): return .bool(settings.value(of: key) == .bool(false))
        case (.int, .ints(let range)):
            let value = settings.value(of: key) == .int(range.lowerBound) ? range.upperBound : range.lowerBound
            return .int(value)
        case (.string, .choices(let choices)):
            return .string(choices.first { settings.value(of: key) != .string($0) } ?? "")
        case (.stringList, .choices(let choices)): return .stringList([choices[1]])
        case (.stringList, _): return .stringList(["changed"])
        case (.int, _), (.string, _): return .string("changed")
        }
    }
}
