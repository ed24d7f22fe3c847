package import JSON

/// The record that a node publishes about itself.
package struct NodeRecordPayload: Sendable, Hashable {
    package var id: NodeID
    package var roles: [String]
    /// `host:port` of its public endpoint.
    package var address: String
    /// `host:port` of its admin endpoint; empty without one.
    package var adminAddress: String
    package var version: String
    package var startedAtMs: Int64
    package var isDraining: Bool
    /// The sessions of a gateway, or the live queries of a worker.
    package var load: Int
    /// The shards that a worker owns.
    package var shards: [ShardStatus]
    /// The version of the project that serves new requests and sessions there; empty if unknown.
    package var project: String
    /// The last deployment that is loaded there, with all before it, and that applies to every mutation in progress.
    package var deployment: Int64
    /// Why a later deployment is not loaded; empty if there is none.
    package var deploymentProblem: String

    package init(
        id: NodeID, roles: [String], address: String, adminAddress: String, version: String, startedAtMs: Int64,
        isDraining: Bool, load: Int, shards: [ShardStatus] = [], project: String = "", deployment: Int64 = 0,
        deploymentProblem: String = ""
    ) {
        self.id = id
        self.roles = roles
        self.address = address
        self.adminAddress = adminAddress
        self.version = version
        self.startedAtMs = startedAtMs
        self.isDraining = isDraining
        self.load = load
        self.shards = shards
        self.project = project
        self.deployment = deployment
        self.deploymentProblem = deploymentProblem
    }

    package var payload: [UInt8] {
        JSONValue.object([
            "id": .string(id.name), "roles": .array(roles.map(JSONValue.string)), "address": .string(address),
            "adminAddress": .string(adminAddress), "version": .string(version), "startedAt": .int(startedAtMs),
            "draining": .bool(isDraining), "load": .int(Int64(load)), "shards": .array(shards.map(\.json)),
            "project": .string(project), "deployment": .int(deployment),
            "deploymentProblem": .string(deploymentProblem),
        ]).compactBytes
    }

    /// Nil for a payload of another format. Numbers are brought into their ranges (`StoredNumber`).
    package init?(payload: [UInt8]) {
        guard case .object(let object)? = try? JSONValue(parsing: payload), let id = object["id"]?.stringValue,
            let roles = object["roles"]?.arrayValue?.compactMap(\.stringValue)
        else { return nil }
        self.init(
            id: NodeID(id), roles: roles, address: object["address"]?.stringValue ?? "",
            adminAddress: object["adminAddress"]?.stringValue ?? "", version: object["version"]?.stringValue ?? "",
            startedAtMs: StoredNumber.timeMs(object["startedAt"]?.intValue ?? 0),
            isDraining: object["draining"]?.boolValue ?? false,
            load: StoredNumber.count(object["load"]?.intValue ?? 0),
            shards: (object["shards"]?.arrayValue ?? []).compactMap(ShardStatus.init(json:)),
            project: object["project"]?.stringValue ?? "",
            deployment: Int64(StoredNumber.version(object["deployment"]?.intValue ?? 0)),
            deploymentProblem: object["deploymentProblem"]?.stringValue ?? "")
    }
}
