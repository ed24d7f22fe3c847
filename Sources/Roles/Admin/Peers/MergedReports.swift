import JSON

/// How the parts of nodes become one report. Pure.
enum MergedReports {
    /// The oldest sessions of all nodes.
    static func sessions(_ parts: [ReportPart], _ arguments: AdminArguments) -> JSONObject {
        let rows = parts.flatMap { $0.rows("sessions") }.sorted { age($0) > age($1) }
        return [
            "count": sum(parts, "count"), "matching": sum(parts, "matching"),
            "sessions": .array(rows.prefix(arguments.integer("limit") ?? 0).map(JSONValue.object)),
        ]
    }

    private static func age(_ row: JSONObject) -> Int64 { row["sinceMs"]?.intValue ?? 0 }

    static func liveQueries(_ parts: [ReportPart], _ arguments: AdminArguments) -> JSONObject {
        let rows = parts.flatMap { $0.rows("liveQueries") }
            .map { (order: "\(text($0, "operation")) \(text($0, "key"))", row: $0) }
            .sorted { $0.order < $1.order }
        return [
            "count": sum(parts, "count"),
            "liveQueries": .array(rows.prefix(arguments.integer("limit") ?? 0).map { .object($0.row) }),
        ]
    }

    /// The counts of each operation, added up, those with the most wasted runs first. `wasted` are the runs that found
    /// the same result again.
    static func rules(_ parts: [ReportPart]) -> JSONObject {
        var operations: [String: JSONObject] = [:]
        for row in parts.flatMap({ $0.json["operations"]?.arrayValue ?? [] }) {
            guard let row = row.objectValue, let name = row["operation"]?.stringValue else { continue }
            operations[name] = operations[name].map { added($0, row) } ?? row
        }
        let rows = operations.values.map { row in
            var row = row
            row["wasted"] = .int(
                ["keyUnchanged", "ruleUnchanged", "rowUnchanged"].reduce(0) { $0 + (row[$1]?.intValue ?? 0) })
            return row
        }
        let sorted = rows.sorted { left, right in
            let (most, least) = (left["wasted"]?.intValue ?? 0, right["wasted"]?.intValue ?? 0)
            return most == least ? text(left, "operation") < text(right, "operation") : most > least
        }
        return ["operations": .array(sorted.map(JSONValue.object))]
    }

    /// Adds the numbers of two rows, and the counts of their mutations by name.
    private static func added(_ left: JSONObject, _ right: JSONObject) -> JSONObject {
        var sums = left
        for entry in right.entries {
            switch (left[entry.key], entry.value) {
            case (.int(let value)?, .int(let other)): sums[entry.key] = .int(value &+ other)
            case (nil, _): sums[entry.key] = entry.value
            default: break
            }
        }
        var mutations: [String: JSONObject] = [:]
        for row in [left, right].flatMap({ $0["unnoticedMutations"]?.arrayValue ?? [] }) {
            guard let row = row.objectValue, let name = row["mutation"]?.stringValue else { continue }
            var sum = mutations[name] ?? row
            if let former = mutations[name] {
                sum["count"] = .int((former["count"]?.intValue ?? 0) &+ (row["count"]?.intValue ?? 0))
            }
            mutations[name] = sum
        }
        sums["unnoticedMutations"] = .array(
            mutations.values.sorted { ($0["count"]?.intValue ?? 0) > ($1["count"]?.intValue ?? 0) }
                .map(JSONValue.object))
        return sums
    }

    static func sum(_ parts: [ReportPart], _ name: String) -> JSONValue {
        .int(parts.reduce(0) { $0 &+ ($1.json[name]?.intValue ?? 0) })
    }

    private static func text(_ row: JSONObject, _ name: String) -> String { row[name]?.stringValue ?? "" }
}
