import Foundation
import JSON
import LocalServers
import NIOHTTP1
import ProtocolClients

/// Freshet nodes as processes of their own over one Postgres and one Redis.
final class Cluster {
    let servers: Servers
    /// The folder that the nodes serve.
    let project: String
    /// Goes before what points at `servers`.
    var environment: [String: String] = [:]
    private var nodes: [FreshetProcess] = []

    private init(_ servers: Servers, project: String) {
        self.servers = servers
        self.project = project
    }

    static func with<T: Sendable>(
        keepsData: Bool = false, project: String = SampleProject.path, postgres settings: [String: String] = [:],
        listensOnLoopback: Bool = false, _ body: (Cluster) async throws -> T
    ) async throws -> T {
        try await Servers.with(
            keepsData: keepsData, postgres: settings, listensOnLoopback: listensOnLoopback
        ) { servers in
            let cluster = Cluster(servers, project: project)
            let migration = try FreshetProcess(
                ["migrate", project, "--seed"],
                environment: ["FRESHET_POSTGRES_URL": servers.postgres.connectionString])
            guard await migration.waitForExit() == 0 else { throw UnexpectedEnd(output: migration.output) }
            do {
                let value = try await body(cluster)
                await cluster.stop()
                return value
            } catch {
                let logs = cluster.nodes.map(\.output).joined(separator: "\n----\n")
                FileHandle.standardError.write(Data("cluster logs:\n\(logs)\n".utf8))
                await cluster.stop()
                throw error
            }
        }
    }

    /// Starts one node and waits until it is ready.
    func start(
        roles: String, settings: [String] = []
    ) async throws -> (process: FreshetProcess, address: ServerAddress, admin: ServerAddress?) {
        let process = try launch(roles: roles, settings: settings)
        let ready = try await process.line(containing: "ready http")
        let parts = ready.split(separator: " ")
        let admin = try parts.firstIndex(of: "admin").map { try ServerAddress(String(parts[$0 + 1])) }
        return (process, try ServerAddress(String(parts[1])), admin)
    }

    /// A node that is not waited for.
    func launch(roles: String, settings: [String] = []) throws -> FreshetProcess {
        var arguments = [
            "serve", project, "--roles", roles, "--set", "http.port=0", "--set", "admin.port=0",
        ]
        let quick = [
            "cluster.leaseTtlMs=1500", "cluster.leaseRenewMs=300", "cluster.nodeTtlMs=1500",
            "cluster.heartbeatMs=300", "cluster.shardCount=16", "cluster.awaitFormerOwners=false", "http.eventLoops=1",
            "outbox.sweepMs=300",
            "outbox.sweepAgeMs=500",
        ]
        for setting in quick + settings { arguments += ["--set", setting] }
        let process = try FreshetProcess(
            arguments,
            environment: [
                "FRESHET_POSTGRES_URL": servers.postgres.connectionString, "FRESHET_REDIS_URL": servers.redis.url,
            ].merging(environment) { $1 })
        nodes.append(process)
        return process
    }

    func stop() async {
        for node in nodes { await node.crash() }
        nodes = []
    }
}

/// Calls of the plain resource and of `/graphql`.
enum API {
    static func mutate(
        _ address: ServerAddress, _ operation: String, _ variables: JSONObject, token: String? = nil,
        connector: String = "auctions"
    ) async throws -> (status: Int, body: JSONValue) {
        var headers: HTTPHeaders = ["content-type": "application/json"]
        if let token { headers.add(name: "authorization", value: "Bearer \(token)") }
        let response = try await HTTPCall.send(
            .POST, address, path: "/v1/connectors/\(connector)/mutations/\(operation)", headers: headers,
            body: JSONWriter.compact(["variables": .object(variables)]))
        return (response.status, try JSONParser.parse(response.body))
    }

    static func get(
        _ address: ServerAddress, _ operation: String, _ variables: JSONObject, headers: HTTPHeaders = [:]
    ) async throws -> HTTPCall.Response {
        let text = String(decoding: JSONWriter.compact(.object(variables)), as: UTF8.self)
        let encoded = text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        return try await HTTPCall.send(
            .GET, address, path: "/v1/connectors/auctions/queries/\(operation)?variables=\(encoded)", headers: headers)
    }
}
