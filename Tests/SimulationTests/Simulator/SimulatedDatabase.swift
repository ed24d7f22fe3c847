import JSON
import LiveModel
import Refresh
import Sharding

/// What the cluster needs of Postgres: entities with a version, queries over them, and the outbox.
///
/// A result is a text that names the live query and the versions read: `op|variables|auth|e0=3,e1=7`.
final class SimulatedDatabase {
    struct OutboxRow {
        let shards: [ShardID]
        let event: [UInt8]
        let createdMs: Int64
        /// Of the orders by which the shards were found.
        let generation: UInt64
    }

    static let entities = ["e0", "e1", "e2", "e3", "u0", "u1"]

    private(set) var versions: [String: Int] = [:]
    var outbox: [String: OutboxRow] = [:]
    var isUp = true

    static func group(of entity: String) -> String {
        switch entity {
        case "e0", "e1": "a"
        case "e2", "e3": "b"
        default: "users"
        }
    }

    /// One transaction: the entity's next version and the outbox row.
    func commit(_ entity: String, eventID: String, row: OutboxRow) {
        versions[entity, default: 0] += 1
        outbox[eventID] = row
    }

    func result(of query: LiveQuery) -> [UInt8] {
        let read: [String] =
            switch query.operation.operation {
            case "Lookup": [query.variables["id"]?.stringValue ?? ""]
            case "Group": Self.entities.filter { Self.group(of: $0) == query.variables["group"]?.stringValue }
            case "Mine": [query.projectedAuth?.uid ?? ""]
            default: Self.entities
            }
        let text = read.map { "\($0)=\(versions[$0] ?? 0)" }.joined(separator: ",")
        return Array((Self.identity(of: query) + text).utf8)
    }

    /// What the text of every result of a live query begins with.
    static func identity(of query: LiveQuery) -> String {
        "\(query.operation.operation)|\(JSONValue.object(query.variables).text)|\(query.auth?.text ?? "")|"
    }

    static func versions(in body: [UInt8]) -> [String: Int] {
        let text = String(decoding: body, as: UTF8.self).split(separator: "|").last ?? ""
        var versions: [String: Int] = [:]
        for pair in text.split(separator: ",") {
            let parts = pair.split(separator: "=")
            if parts.count == 2 { versions[String(parts[0])] = Int(parts[1]) }
        }
        return versions
    }
}
