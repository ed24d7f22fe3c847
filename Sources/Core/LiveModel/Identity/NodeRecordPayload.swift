package import JSON

/// A node's record about itself, published to the cluster.
package struct NodeRecordPayload: Sendable, Hashable {
    package var id: NodeID
    package var roles: Set<Role>
    /// The `host:port` of its public endpoint.
    package var address: String
    /// The `host:port` of its admin endpoint; empty if there is none.
    package var adminAddress: String
    package var version: String
    package var startedAtMs: Int64
    package var isDraining: Bool
    /// The sessions of a gateway, or the live queries of a worker.
    package var load: Int
    /// The shards that a worker owns.
    package var shards: [ShardStatus]
    /// The project version that serves new requests and sessions on the node; empty if unknown.
    package var project: String
    /// The last deployment that is loaded together with all earlier ones and that applies to every mutation in
    /// progress.
    package var deployment: Int64
    /// Why a later deployment is not loaded; empty if there is no problem.
    package var deploymentProblem: String
    /// The node's process; nil if the system does not identify it.
    package var process: ProcessIdentity?
    /// Whether the node, if it is a worker, knows marks of unfollowed shards.
    package var knowsUnfollowedShards: Bool
    /// Whether the node takes its turn in committing markers.
    package var commitsMarkers: Bool

    package init(
        id: NodeID, roles: Set<Role>, address: String, adminAddress: String, version: String, startedAtMs: Int64,
        isDraining: Bool, load: Int, shards: [ShardStatus] = [], project: String = "", deployment: Int64 = 0,
        deploymentProblem: String = "", process: ProcessIdentity? = nil, knowsUnfollowedShards: Bool = true,
        commitsMarkers: Bool = false
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
        self.process = process
        self.knowsUnfollowedShards = knowsUnfollowedShards
        self.commitsMarkers = commitsMarkers
    }

    package var payload: [UInt8] {
        JSONValue.object([
            "id": .string(id.name), "roles": .array(roles.names.map(JSONValue.string)), "address": .string(address),
            "adminAddress": .string(adminAddress), "version": .string(version), "startedAt": .int(startedAtMs),
            "draining": .bool(isDraining), "load": .int(Int64(load)), "shards": .array(shards.map(\.json)),
            "project": .string(project), "deployment": .int(deployment),
            "deploymentProblem": .string(deploymentProblem), "process": process?.json ?? .null,
            "unfollowedShards": .bool(knowsUnfollowedShards), "markers": .bool(commitsMarkers),
        ]).compactBytes
    }

    package init?(payload: [UInt8]) {
        var defects = StoredDefects()
        self.init(payload: payload, defects: &defects)
    }

    /// Parses a payload; nil for another format. Numbers are clamped to their ranges (`StoredNumber`); roles of later
    /// versions are left out.
    /// - Parameter defects: counts what no node writes.
    package init?(payload: [UInt8], defects: inout StoredDefects) {
        guard case .object(let object)? = try? JSONValue(parsing: payload), let id = object["id"]?.stringValue,
            let roles = object["roles"]?.arrayValue?.compactMap(\.stringValue).compactMap(Role.init)
        else {
            defects.add("a node record in another format")
            return nil
        }
        func number(_ name: String) -> Int64 {
            guard let value = object[name] else { return 0 }
            guard let number = value.intValue else {
                defects.add("\(name): \(value)")
                return 0
            }
            return number
        }
        let (startedAt, load, deployment) = (number("startedAt"), number("load"), number("deployment"))
        let startedAtMs = defects.clamped(startedAt, to: StoredNumber.timeMs(startedAt), "startedAt")
        let loadCount = defects.clamped(load, to: StoredNumber.count(load), "load")
        let version = defects.clamped(deployment, to: StoredNumber.version(deployment), "deployment")
        var shards: [ShardStatus] = []
        for json in object["shards"]?.arrayValue ?? [] {
            if let status = ShardStatus(json: json, defects: &defects) { shards.append(status) }
        }
        let process = object["process"].flatMap(ProcessIdentity.init(json:))
        if process == nil, let json = object["process"], json != .null { defects.add("process: \(json)") }
        self.init(
            id: NodeID(id), roles: Set(roles), address: object["address"]?.stringValue ?? "",
            adminAddress: object["adminAddress"]?.stringValue ?? "", version: object["version"]?.stringValue ?? "",
            startedAtMs: startedAtMs, isDraining: object["draining"]?.boolValue ?? false, load: loadCount,
            shards: shards, project: object["project"]?.stringValue ?? "", deployment: Int64(version),
            deploymentProblem: object["deploymentProblem"]?.stringValue ?? "", process: process,
            knowsUnfollowedShards: object["unfollowedShards"]?.boolValue ?? false,
            commitsMarkers: object["markers"]?.boolValue ?? false)
    }
}
