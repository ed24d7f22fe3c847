package import JSON

/// What a node tells the others about itself.
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
    /// Sessions of a gateway, live queries of a worker.
    package var load: Int
    /// Those that a worker owns.
    package var shards: [ShardStatus]

    package init(
        id: NodeID, roles: [String], address: String, adminAddress: String, version: String, startedAtMs: Int64,
        isDraining: Bool, load: Int, shards: [ShardStatus] = []
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
    }

    package var payload: [UInt8] {
        JSONValue.object([
            "id": .string(id.name), "roles": .array(roles.map(JSONValue.string)), "address": .string(address),
            "adminAddress": .string(adminAddress), "version": .string(version), "startedAt": .int(startedAtMs),
            "draining": .bool(isDraining), "load": .int(Int64(load)), "shards": .array(shards.map(\.json)),
        ]).compactBytes
    }

    /// Nil for a payload of another format.
    package init?(payload: [UInt8]) {
        guard case .object(let object)? = try? JSONValue(parsing: payload), let id = object["id"]?.stringValue,
            let roles = object["roles"]?.arrayValue?.compactMap(\.stringValue)
        else { return nil }
        self.init(
            id: NodeID(id), roles: roles, address: object["address"]?.stringValue ?? "",
            adminAddress: object["adminAddress"]?.stringValue ?? "", version: object["version"]?.stringValue ?? "",
            startedAtMs: object["startedAt"]?.intValue ?? 0, isDraining: object["draining"]?.boolValue ?? false,
            load: Int(object["load"]?.intValue ?? 0),
            shards: (object["shards"]?.arrayValue ?? []).compactMap(ShardStatus.init(json:)))
    }
}
