/// Reports tables whose rows require each other, so that none can be inserted before the others. A row that requires
/// one of its own table may refer to itself.
enum RequiredCycles {
    static func check(_ schema: Schema, _ declared: DeclaredSchema, sink: inout DiagnosticSink) {
        var targets: [String: [Reference]] = [:]
        for table in schema.tables {
            targets[table.typeName] = table.references.filter {
                !$0.isNullable && $0.targetType != table.typeName
            }
        }
        var reported: Set<String> = []
        for table in schema.tables where !reported.contains(table.typeName) {
            guard let cycle = cycle(from: table.typeName, targets) else { continue }
            reported.formUnion(cycle.map(\.type))
            let path = cycle.map { "\($0.type).\($0.field)" }.joined(separator: " → ")
            guard let first = cycle.first, let type = declared.type(named: first.type) else { continue }
            sink.report(
                .warning, rule: .requiredCycle, at: type.field(named: first.field)?.range ?? type.range,
                "the first row of \"\(first.type)\" requires others that require it:"
                    + " \(path) → \(first.type) are all required",
                help: "make one of these references optional, or insert the first rows together, as nested data")
        }
    }

    /// Returns the shortest way of required references that leads back to a type; nil if there is none.
    private static func cycle(from start: String, _ targets: [String: [Reference]]) -> [(type: String, field: String)]?
    {
        var ways: [[(type: String, field: String)]] = [[]]
        var visited: Set<String> = []
        while !ways.isEmpty {
            var next: [[(type: String, field: String)]] = []
            for way in ways {
                let type = way.isEmpty ? start : target(of: way, targets)
                for reference in targets[type] ?? [] {
                    let longer = way + [(type, reference.field)]
                    if reference.targetType == start { return longer }
                    if visited.insert(reference.targetType).inserted { next.append(longer) }
                }
            }
            ways = next
        }
        return nil
    }

    private static func target(
        of way: [(type: String, field: String)], _ targets: [String: [Reference]]
    ) -> String {
        guard let last = way.last else { return "" }
        return targets[last.type]?.first { $0.field == last.field }?.targetType ?? ""
    }
}
