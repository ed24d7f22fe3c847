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

    /// The live queries of all workers, of which `matching` of `count` pass the filters.
    static func liveQueries(_ parts: [ReportPart], _ arguments: AdminArguments) -> JSONObject {
        var found = parts.flatMap { $0.rows("liveQueries") }
        if let key = arguments["key"]?.lowercased() { found.removeAll { !text($0, "key").hasPrefix(key) } }
        if arguments["user"] != nil {
            // Gateways report those that no worker has, as those whose owner has changed just now.
            var followed = followed(parts, arguments)
            found.removeAll { followed[text($0, "key")] == nil }
            for row in found { followed[text(row, "key")] = nil }
            found += followed.values
        }
        let rows =
            found
            .map { (order: "\(text($0, "operation")) \(text($0, "key"))", row: $0) }
            .sorted { $0.order < $1.order }
        return [
            "count": sum(parts, "count"),
            "matching": arguments["user"] != nil
                ? .int(Int64(rows.count))
                : sum(parts, arguments["operation"] != nil || arguments["key"] != nil ? "matching" : "count"),
            "liveQueries": .array(rows.prefix(arguments.integer("limit") ?? 0).map { .object($0.row) }),
        ]
    }

    /// The live queries that a user's sessions follow, by key, as gateways report them.
    static func followed(_ parts: [ReportPart], _ arguments: AdminArguments) -> [String: JSONObject] {
        let key = arguments["key"]?.lowercased() ?? ""
        return Dictionary(
            parts.flatMap { $0.rows("followed") }.map { (text($0, "key"), $0) }.filter { $0.0.hasPrefix(key) },
            uniquingKeysWith: { one, _ in one })
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
        return [
            "countedForMs": .int(parts.compactMap { $0.json["upMs"]?.intValue }.min() ?? 0),
            "rules": .array(effects(parts)), "operations": .array(sorted.map(JSONValue.object)),
        ]
    }

    /// The effect of each rule over all nodes, those with the most wasted runs first, those that never fired last.
    private static func effects(_ parts: [ReportPart]) -> [JSONValue] {
        struct Key: Hashable { let operation, rule, kind: String }
        var sums: [Key: (fired: Int64, changed: Int64, databaseMs: Double)] = [:]
        for row in parts.flatMap({ $0.json["rules"]?.arrayValue ?? [] }).compactMap(\.objectValue) {
            let key = Key(operation: text(row, "operation"), rule: text(row, "rule"), kind: text(row, "kind"))
            var sum = sums[key] ?? (0, 0, 0)
            sum.fired &+= row["fired"]?.intValue ?? 0
            sum.changed &+= row["changed"]?.intValue ?? 0
            sum.databaseMs += row["databaseMs"]?.doubleValue ?? 0
            sums[key] = sum
        }
        let sorted = sums.sorted { left, right in
            let (most, least) = (left.value.fired - left.value.changed, right.value.fired - right.value.changed)
            if most != least { return most > least }
            if left.value.fired != right.value.fired { return left.value.fired > right.value.fired }
            return (left.key.operation, left.key.rule) < (right.key.operation, right.key.rule)
        }
        return sorted.map { key, sum in
            let wasted = sum.fired - sum.changed
            return [
                "operation": .string(key.operation), "rule": .string(key.rule), "kind": .string(key.kind),
                "fired": .int(sum.fired), "changed": .int(sum.changed), "wasted": .int(wasted),
                "wastedShare": .double(
                    sum.fired > 0 ? (Double(wasted) / Double(sum.fired) * 1_000).rounded() / 1_000 : 0),
                "databaseMs": .double((sum.databaseMs * 1_000).rounded() / 1_000),
            ]
        }
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

    /// The recordings of nodes: the sums of their counts, and each node's own.
    static func recording(_ parts: [ReportPart]) -> JSONObject {
        var all: JSONObject = [
            "isArmed": .bool(parts.contains { $0.json["isArmed"] == true }),
            "traceRate": .double(parts.map { $0.json["traceRate"]?.doubleValue ?? 0 }.max() ?? 0),
        ]
        all["untilMs"] = parts.compactMap { $0.json["untilMs"]?.intValue }.max().map { .int($0) }
        for name in ["queries", "queriesMax", "bytes", "bytesMax", "spans", "spansMax", "tails", "dropped"] {
            all[name] = sum(parts, name)
        }
        all["nodes"] = .array(parts.map(\.json))
        return all
    }

    /// - Parameter verb: what several nodes do, before the rest of the sentence: `trace`.
    static func recording(_ parts: [ReportPart], verb: String, _ rest: String) -> JSONObject {
        var all = recording(parts)
        let subject = parts.count == 1 ? "\(parts[0].node) \(verb)s" : "\(parts.count) nodes \(verb)"
        all["done"] = .string("\(subject) \(rest)")
        return all
    }

    static func sum(_ parts: [ReportPart], _ name: String) -> JSONValue {
        .int(parts.reduce(0) { $0 &+ ($1.json[name]?.intValue ?? 0) })
    }

    private static func text(_ row: JSONObject, _ name: String) -> String { row[name]?.stringValue ?? "" }
}
