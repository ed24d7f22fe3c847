package import Catalog
package import JSON
package import LiveModel
import Operations
import QuerySQL
package import Refresh

/// What becomes of one stored operation: its SQL, its rules and how each is indexed, what is in the key of its live
/// queries, and which mutations refresh it and why.
package struct OperationExplanation: Sendable {
    package enum Rule: Sendable {
        /// Looked up by (table, key).
        case implicit(table: String, key: [String])
        /// - Parameter form: nil without a condition: every execution matches.
        case trigger(mutation: OperationReference, condition: String?, form: ConditionForm?)
        case timer(everyMs: Int)
    }

    /// A mutation and a query, seen from either.
    package struct Relation: Sendable {
        package let other: OperationReference
        /// Why it refreshes; empty when it does not.
        package let reasons: [String]
        /// Tables that the mutation writes and the query reads.
        package let tables: [String]
    }

    package struct SQL: Sendable {
        package let single: String
        package let multiplexed: String
        package let parameters: [StoredOperation.Parameter]
    }

    package let reference: OperationReference
    package let kind: StoredOperation.Kind
    package let version: Digest
    package let auth: String
    /// Names and types.
    package let variables: [(name: String, type: String)]
    /// For which the SQL is shown.
    package let shape: JSONObject
    /// What of auth is part of the key of a live query, `auth.uid`, `auth.token.org`.
    package let claims: [String]
    /// Of a query.
    package let sql: SQL?
    /// Vectors that it needs of texts.
    package let embeddings: [StoredOperation.EmbeddingUse]
    /// Of a mutation.
    package let steps: [StoredOperation.Step]
    package let rules: [Rule]
    /// A query: the mutations that refresh it. A mutation: the queries that it refreshes.
    package let refreshing: [Relation]
    /// Those that touch the same tables without refreshing.
    package let unnoticed: [Relation]
    /// All others of the catalog.
    package let unrelatedCount: Int
    /// Native SQL, views or filters from variables: the tables touched are not all known.
    package let isPartial: Bool

    /// - Parameter variables: as sent, to see the SQL for exactly these; nil for the statement that has every part.
    /// - Throws: `.invalidVariable`.
    package init(
        _ operation: StoredOperation, in catalog: Catalog, variables: JSONObject? = nil
    ) throws(RequestError) {
        reference = operation.reference
        kind = operation.kind
        version = operation.version
        auth = operation.auth.level.map(\.rawValue) ?? operation.auth.expression.text
        self.variables = operation.variables.map { ($0.name, $0.typeText) }
        if let variables {
            shape = try operation.coerce(variables)
        } else {
            shape = operation.sampleVariables(of: catalog.schema)
        }
        claims = operation.kind == .query ? Self.claims(operation.authReads) : []
        sql = operation.statement(variables: shape).map {
            SQL(single: $0.statement.single, multiplexed: $0.statement.multiplexed, parameters: $0.parameters)
        }
        embeddings = operation.embeddingUses
        steps = operation.steps(variables: shape)
        rules = Self.rules(operation)
        isPartial = operation.readWriteSet.isPartial
        let relations = Self.relations(operation, catalog)
        refreshing = relations.filter { !$0.reasons.isEmpty }
        unnoticed = relations.filter { $0.reasons.isEmpty && !$0.tables.isEmpty }
        unrelatedCount = relations.count - refreshing.count - unnoticed.count
    }

    private static func claims(_ reads: AuthReads) -> [String] {
        guard reads.presence else { return [] }
        var claims = ["whether somebody is signed in"]
        if reads.uid { claims.append("auth.uid") }
        claims += reads.wholeToken ? ["auth.token, all of it"] : reads.claims.map { "auth.token.\($0)" }
        return claims
    }

    private static func rules(_ operation: StoredOperation) -> [Rule] {
        let refresh = operation.refresh
        var rules = operation.lookups.map { Rule.implicit(table: $0.table, key: $0.key) }
        rules += refresh.triggers.map {
            Rule.trigger(
                mutation: $0.mutation, condition: $0.conditionText, form: $0.condition.map(ConditionForm.init))
        }
        if let everyMs = refresh.everyMs { rules.append(.timer(everyMs: everyMs)) }
        return rules
    }

    /// With every operation of the other kind, sorted by name.
    private static func relations(_ operation: StoredOperation, _ catalog: Catalog) -> [Relation] {
        let others = catalog.connectors.values.flatMap(\.operations.values).filter { $0.kind != operation.kind }
        return others.sorted { $0.reference < $1.reference }.map { other in
            let (query, mutation) = operation.kind == .query ? (operation, other) : (other, operation)
            return Relation(
                other: other.reference, reasons: reasons(query, mutation, catalog),
                tables: query.readWriteSet.tablesRead.intersection(mutation.readWriteSet.tablesWritten).sorted())
        }
    }

    private static func reasons(
        _ query: StoredOperation, _ mutation: StoredOperation, _ catalog: Catalog
    ) -> [String] {
        guard catalog.queriesRefreshed(by: mutation.reference).contains(query.reference) else { return [] }
        var reasons = Set(query.refresh.lookupTables).intersection(mutation.tablesWrittenByKey).sorted().map {
            "it writes rows of \($0) by key, and the query looks one up by key"
        }
        for (index, trigger) in query.refresh.triggers.enumerated() where trigger.mutation == mutation.reference {
            reasons.append(
                "trigger \(index + 1) names it"
                    + (trigger.conditionText.map { ", when \($0)" } ?? ", at every execution"))
        }
        return reasons
    }
}
