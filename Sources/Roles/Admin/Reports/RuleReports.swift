import Catalog
import Execution
import FanoutWorker
package import JSON
import LiveModel
import Operations
import Refresh

/// The effects of rules, and changes that none noticed.
extension NodeInspector {
    /// Returns which rules of this node's live queries had an effect since its start, and which changes none noticed.
    package func ruleEffects() async -> JSONValue {
        let counts = await parts.components.worker?.refreshCounts ?? [:]
        return [
            "node": .string(nodeID.name), "upMs": .int(max(0, parts.clock.nowMs() - parts.startedAtMs)),
            "rules": .array(effects(counts)),
            "operations": .array(
                counts.sorted { $0.key < $1.key }.map { operation, counts in
                    var row: JSONObject = [
                        "operation": .string(operation.description),
                        "rules": .array(rules(of: operation).map(JSONValue.string)),
                        "keyChanged": .int(Int64(counts.byKey.changed)),
                        "keyUnchanged": .int(Int64(counts.byKey.unchanged)),
                        "ruleChanged": .int(Int64(counts.byRule.changed)),
                        "ruleUnchanged": .int(Int64(counts.byRule.unchanged)),
                        "rowChanged": .int(Int64(counts.byRow.changed)),
                        "rowUnchanged": .int(Int64(counts.byRow.unchanged)),
                        "unnoticed": .int(Int64(counts.unnoticed.values.reduce(0, +))),
                        "checked": .int(Int64(counts.checked.changed + counts.checked.unchanged)),
                        "stale": .int(Int64(counts.checked.changed)),
                    ]
                    row["unnoticedMutations"] = .array(
                        counts.unnoticed.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map {
                            unnoticed($0.key, $0.value, by: operation)
                        })
                    return .object(row)
                }),
        ]
    }

    /// Returns a mutation that changed rows which a query reads, with the rule that would have noticed.
    private func unnoticed(
        _ mutation: OperationReference, _ count: UInt64, by query: OperationReference
    ) -> JSONValue {
        var rule = "@refresh(onMutationExecuted: {operation: \"\(mutation.name(within: query.connector))\""
        if let reader = parts.catalogs.set.operation(query), let writer = parts.catalogs.set.operation(mutation),
            let condition = ReadWriteSet.condition(query: reader.readWriteSet, mutation: writer.readWriteSet)
        {
            rule += ", condition: \"\(condition)\""
        }
        return ["mutation": .string(mutation.description), "count": .int(Int64(count)), "rule": .string(rule + "})")]
    }

    func rules(of reference: OperationReference) -> [String] {
        parts.catalogs.set.operation(reference).map(Self.rules) ?? []
    }

    /// Returns what refreshes a query, in words.
    static func rules(of operation: StoredOperation) -> [String] {
        let refresh = operation.refresh
        var rules = refresh.lookupTables.map { "implicit: key of \($0)" }
        if let everyMs = refresh.everyMs { rules.append("every \(everyMs) ms") }
        rules += refresh.triggers.map { text(of: $0, in: operation) }
        if let automatic = operation.automaticSites {
            let name = automatic.use == .isObserved ? "observed" : "automatic"
            rules += automatic.mayReadAnything ? ["\(name): any row"] : automatic.texts.map { "\(name): \($0)" }
        }
        return rules
    }

    // MARK: Rules one by one

    /// The effect of each rule of every version served, also of those that never fired.
    private func effects(_ counts: [OperationReference: RefreshCounts]) -> [JSONValue] {
        var seen: Set<RuleID> = []
        var rows: [JSONValue] = []
        let operations = parts.catalogs.set.members.flatMap {
            $0.catalog.connectors.values.flatMap(\.operations.values)
        }
        for operation in operations where operation.kind == .query {
            // Most operations are the same in several versions of the project.
            let id = RuleID(operation: operation.reference, version: operation.version, number: 0)
            guard seen.insert(id).inserted else { continue }
            let found = counts[operation.reference]?.versions.first { $0.version == operation.version }
            rows += Self.effects(of: operation, found).map { .object($0) }
        }
        return rows
    }

    /// - Parameter counts: nil if the operation never ran here.
    private static func effects(of operation: StoredOperation, _ counts: RuleCounts?) -> [JSONObject] {
        func row(_ kind: String, _ rule: String, _ effect: RuleCounts.Effect?) -> JSONObject {
            [
                "operation": .string(operation.reference.description), "rule": .string(rule), "kind": .string(kind),
                "fired": .int(Int64(clamping: effect?.fired ?? 0)),
                "changed": .int(Int64(clamping: effect?.changed ?? 0)),
                "databaseMs": .double(Double(effect?.micros ?? 0) / 1_000),
            ]
        }
        var rows: [JSONObject] = []
        let refresh = operation.refresh
        if !refresh.lookupTables.isEmpty {
            let tables = refresh.lookupTables.joined(separator: ", ")
            rows.append(row("key", "implicit: key of \(tables)", counts?.key))
        }
        if let everyMs = refresh.everyMs { rows.append(row("timer", "every \(everyMs) ms", counts?.timer)) }
        let texts = refresh.triggers.map { text(of: $0, in: operation) }
        let last = RuleIndex.Causes.triggersMax - 1
        for number in texts.indices.prefix(last) { rows.append(row("trigger", texts[number], counts?.trigger(number))) }
        if texts.count > last {
            rows.append(row("trigger", texts[last...].joined(separator: "; "), counts?.trigger(last)))
        }
        if let automatic = operation.automaticSites, automatic.use == .refreshes {
            let sites = automatic.mayReadAnything ? "any row" : automatic.texts.joined(separator: "; ")
            rows.append(row("rows", "automatic: \(sites)", counts?.rows))
        }
        return rows
    }

    private static func text(of trigger: RefreshRules.Trigger, in operation: StoredOperation) -> String {
        "onMutationExecuted \(trigger.mutation.name(within: operation.reference.connector))"
            + (trigger.conditionText.map { " when \($0)" } ?? "")
    }
}
