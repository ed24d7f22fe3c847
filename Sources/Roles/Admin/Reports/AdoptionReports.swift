import Catalog
import Execution
import Gateway
import JSON
import LiveModel

/// Which clients and which versions of operations are in use.
extension NodeInspector {
    /// The clients and versions of operations of which one node tells.
    static let adoptionMax = 1_000

    /// Returns this node's sessions by client, by the project's version that they began with, and by the version of
    /// each operation that they follow.
    func adoption() async -> JSONValue {
        let reports = await parts.components.sessions.reports(limit: .max, keysMax: .max)
        let followed = parts.components.gateway?.liveQueries(of: reports.flatMap(\.followedKeys)) ?? [:]
        var clients: [String: Int] = [:]
        var versions: [Digest: Int] = [:]
        var operations: [FollowedVersion: Int] = [:]
        for report in reports {
            clients[report.client, default: 0] += 1
            versions[report.version, default: 0] += 1
            let own = report.followedKeys.compactMap { followed[$0] }
                .map { FollowedVersion(operation: $0.operation, version: $0.version) }
            for version in Set(own) { operations[version, default: 0] += 1 }
        }
        let current = parts.catalogs.set.current
        func most<Key: Comparable>(_ counts: [Key: Int], _ row: (Key) -> JSONObject) -> JSONValue {
            .array(
                counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(Self.adoptionMax).map { key, count in
                    var row = row(key)
                    row["sessions"] = .int(Int64(count))
                    return .object(row)
                })
        }
        return [
            "node": .string(nodeID.name), "count": .int(Int64(reports.count)),
            "clients": most(clients) { ["client": .string($0)] },
            "versions": .array(
                versions.sorted { $0.key.hex < $1.key.hex }.map { version, count in
                    [
                        "version": .string(version.hex), "isCurrent": .bool(version == current.version),
                        "sessions": .int(Int64(count)),
                    ]
                }),
            "operations": most(operations) { followed in
                [
                    "operation": .string(followed.operation.description), "version": .string(followed.version.hex),
                    "isCurrent": .bool(
                        current.catalog.operation(followed.operation)?.version == followed.version),
                ]
            },
        ]
    }

    private struct FollowedVersion: Hashable, Comparable {
        let operation: OperationReference
        let version: Digest

        static func < (left: FollowedVersion, right: FollowedVersion) -> Bool {
            (left.operation, left.version.hex) < (right.operation, right.version.hex)
        }
    }
}

/// The adoption of clients and versions over all nodes. Pure.
enum MergedAdoption {
    static func merged(_ parts: [ReportPart], _ arguments: AdminArguments) -> JSONObject {
        let limit = arguments.integer("limit") ?? 0
        return [
            "count": MergedReports.sum(parts, "count"),
            "clients": rows(parts, "clients", by: ["client"], limit: limit),
            "versions": rows(parts, "versions", by: ["version"], limit: limit),
            "operations": rows(parts, "operations", by: ["operation", "version"], limit: limit),
        ]
    }

    /// Adds the sessions of equal rows up; those with the most come first. A version is current if it is on any node.
    private static func rows(
        _ parts: [ReportPart], _ name: String, by keys: [String], limit: Int
    ) -> JSONValue {
        var sums: [[String]: JSONObject] = [:]
        for row in parts.flatMap({ $0.json[name]?.arrayValue ?? [] }).compactMap(\.objectValue) {
            let key = keys.map { row[$0]?.stringValue ?? "" }
            guard var sum = sums[key] else {
                sums[key] = row
                continue
            }
            sum["sessions"] = .int((sum["sessions"]?.intValue ?? 0) &+ (row["sessions"]?.intValue ?? 0))
            if row["isCurrent"] == true { sum["isCurrent"] = true }
            sums[key] = sum
        }
        let sorted = sums.sorted { left, right in
            let (most, least) = (left.value["sessions"]?.intValue ?? 0, right.value["sessions"]?.intValue ?? 0)
            return most == least ? left.key.lexicographicallyPrecedes(right.key) : most > least
        }
        return .array(sorted.prefix(limit).map { .object($0.value) })
    }
}
