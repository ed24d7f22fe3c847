import Catalog
import Inspection
import LiveModel
import Operations

/// The mutations that write what a query reads, by whether they refresh it. Pure.
enum MissingRules {
    static func of(
        _ query: StoredOperation, in set: CatalogSet
    ) -> (covered: [String], missing: [WhyFacts.MissingRule]) {
        var covered: [String] = []
        var missing: [WhyFacts.MissingRule] = []
        let mutations = set.current.catalog.connectors.values.flatMap(\.operations.values)
            .filter { $0.kind == .mutation }.sorted { $0.reference < $1.reference }
        for mutation in mutations {
            let tables = query.readWriteSet.tablesChanged(by: mutation.readWriteSet).sorted()
            let refreshes = set.queriesRefreshed(by: mutation.reference).contains(query.reference)
            if refreshes {
                covered.append(mutation.reference.description)
            } else if !tables.isEmpty {
                missing.append(
                    WhyFacts.MissingRule(
                        mutation: mutation.reference.description, tables: tables, rule: rule(mutation, of: query)))
            }
        }
        return (covered, missing)
    }

    /// The rule that would notice the mutation.
    static func rule(_ mutation: StoredOperation, of query: StoredOperation) -> String {
        let name = mutation.reference.name(within: query.reference.connector)
        let condition = ReadWriteSet.condition(query: query.readWriteSet, mutation: mutation.readWriteSet)
        return "@refresh(onMutationExecuted: {operation: \"\(name)\""
            + (condition.map { ", condition: \"\($0)\"" } ?? "") + "})"
    }
}
