package import Catalog
package import JSON
package import LiveModel
import Operations
import QuerySQL
package import Refresh
import SchemaModel

/// An explanation of one stored operation: its SQL, its rules and how each is indexed, the key of its live queries, and
/// the mutations that refresh it, with reasons.
package struct OperationExplanation: Sendable {
    /// A refresh rule of a query.
    package enum Rule: Sendable {
        /// An implicit rule, looked up by table and key.
        case implicit(table: String, key: [String])
        /// An `onMutationExecuted` rule.
        /// - Parameter form: the analyzed condition; nil if there is none and every execution matches.
        case trigger(mutation: OperationReference, condition: String?, form: ConditionForm?)
        case timer(everyMs: Int)
        /// Changes of rows of a table that the query reads.
        /// - Parameters:
        ///   - guards: the conditions that the row must satisfy before or after: `lotId = $lotId`.
        ///   - fields: those of which an update must change one; nil if any change counts.
        ///   - namedFields: those of the fields that count only if a filter or order from a variable names them.
        ///   - filteredFields: those of the fields of which only the filter matters.
        ///   - shown: how rows enter the result; nil if it does not show the rows one by one.
        ///   - identity: the fields, beside the key, that the replica identity needs for changes by others to be as
        ///     exact as mutations; nil if the query does not refresh by the database's log.
        ///   - isOfSQL: whether native SQL or a view reads the rows.
        case site(
            table: String, guards: [String], fields: [String]?, namedFields: [String], filteredFields: [String],
            SiteClass, shown: Entering?, identity: [String]?, isOfSQL: Bool)
        /// Changes of any rows, because the query may read any table.
        case anyRow
    }

    /// When a row that a result does not show may enter it.
    package struct Entering: Sendable {
        /// The fields of which an update must set one.
        package let fields: [String]
        /// The fields by which rows come that are compared with those of the last one shown.
        package let order: [String]

        init(_ shown: ReadSite.Shown) {
            fields = shown.deciding.sorted()
            order = shown.window?.order.map(\.column.field) ?? []
        }
    }

    /// The relation of this operation to one of the other kind.
    package struct Relation: Sendable {
        package let other: OperationReference
        /// The reasons for a refresh; empty if there is none.
        package let reasons: [String]
        /// The tables in which the mutation may change what the query reads.
        package let tables: [String]
    }

    /// The statements of a query.
    package struct SQL: Sendable {
        package let single: String
        package let multiplexed: String
        package let parameters: [StoredOperation.Parameter]
    }

    package let reference: OperationReference
    package let kind: StoredOperation.Kind
    package let version: Digest
    package let auth: String
    /// The names and types of the variables.
    package let variables: [(name: String, type: String)]
    /// The variables for which the SQL is shown.
    package let shape: JSONObject
    /// The parts of auth in the key of a live query, such as `auth.uid` and `auth.token.org`.
    package let claims: [String]
    /// The statements; nil for a mutation.
    package let sql: SQL?
    /// The embeddings that the operation needs.
    package let embeddings: [StoredOperation.EmbeddingUse]
    /// The steps of a mutation.
    package let steps: [StoredOperation.Step]
    package let rules: [Rule]
    /// The mutations that refresh a query, or the queries that a mutation refreshes.
    package let refreshing: [Relation]
    /// Mutations that may change what the query reads without a refresh, or such queries of the mutation.
    package let unnoticed: [Relation]
    /// The number of all other operations of that kind.
    package let unrelatedCount: Int
    /// Whether native SQL, views or filters from variables may touch more tables than are known.
    package let isPartial: Bool

    /// Explains an operation.
    /// - Parameter variables: variables as sent, to show the SQL for exactly these; nil shows the statement with every
    ///   part.
    /// - Throws: `.invalidVariable` if `variables` do not fit the operation.
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
        rules = Self.rules(operation, catalog.schema)
        isPartial = operation.readWriteSet.isPartial
        let relations = Self.relations(operation, catalog)
        refreshing = relations.filter { !$0.reasons.isEmpty }
        unnoticed = relations.filter { $0.reasons.isEmpty && !$0.tables.isEmpty }
        unrelatedCount = relations.count - refreshing.count - unnoticed.count
    }

    private static func claims(_ reads: AuthReads) -> [String] {
        guard reads.presence else { return [] }
        var claims = ["whether the user is signed in"]
        if reads.uid { claims.append("auth.uid") }
        claims += reads.wholeToken ? ["auth.token, all of it"] : reads.claims.map { "auth.token.\($0)" }
        return claims
    }

    private static func rules(_ operation: StoredOperation, _ schema: Schema) -> [Rule] {
        let refresh = operation.refresh
        var rules = operation.lookups.map { Rule.implicit(table: $0.table, key: $0.key) }
        rules += refresh.triggers.map {
            Rule.trigger(
                mutation: $0.mutation, condition: $0.conditionText, form: $0.condition.map(ConditionForm.init))
        }
        if let everyMs = refresh.everyMs { rules.append(.timer(everyMs: everyMs)) }
        guard let automatic = operation.automaticSites, automatic.use == .refreshes else { return rules }
        if automatic.mayReadAnything { return rules + [.anyRow] }
        return rules
            + automatic.sites.map { site in
                let key = schema.tables.first { $0.name == site.form.table }?.key ?? []
                return .site(
                    table: site.form.table, guards: site.guardTexts, fields: site.form.fields?.sorted(),
                    namedFields: site.read.fixedFields.map { site.form.fields?.subtracting($0).sorted() ?? [] } ?? [],
                    filteredFields: site.read.fieldsFiltered.sorted(), site.siteClass,
                    shown: site.read.shown.map(Entering.init),
                    identity: automatic.source == .mutations
                        ? nil : site.formerFields.subtracting(key).sorted(), isOfSQL: site.read.isOfSQL)
            }
    }

    /// Returns the relations to every operation of the other kind, sorted by name.
    private static func relations(_ operation: StoredOperation, _ catalog: Catalog) -> [Relation] {
        let others = catalog.connectors.values.flatMap(\.operations.values).filter { $0.kind != operation.kind }
        return others.sorted { $0.reference < $1.reference }.map { other in
            let (query, mutation) = operation.kind == .query ? (operation, other) : (other, operation)
            return Relation(
                other: other.reference, reasons: reasons(query, mutation, catalog),
                tables: query.readWriteSet.tablesChanged(by: mutation.readWriteSet).sorted())
        }
    }

    private static func reasons(
        _ query: StoredOperation, _ mutation: StoredOperation, _ catalog: Catalog
    ) -> [String] {
        guard catalog.queriesRefreshed(by: mutation.reference).contains(query.reference) else { return [] }
        var reasons = Set(query.refresh.lookupTables).intersection(mutation.tablesWrittenByKey).sorted().map {
            "it writes rows of \($0) by key, and the query looks one up by key"
        }
        if let automatic = query.automaticSites, automatic.use == .refreshes {
            if automatic.mayReadAnything {
                reasons.append("it writes rows, and the query may read any table")
            } else if let tables = mutation.tablesWritten {
                reasons += tables.intersection(automatic.sites.map(\.form.table)).sorted().map {
                    mutation.readWriteSet.tablesWritten.contains($0)
                        ? "it writes rows of \($0), which the query reads"
                        : "rows of \($0), which the query reads, may follow what it changes"
                }
            } else {
                reasons.append("it has native SQL, which may write any row")
            }
        }
        for (index, trigger) in query.refresh.triggers.enumerated() where trigger.mutation == mutation.reference {
            reasons.append(
                "trigger \(index + 1) names it"
                    + (trigger.conditionText.map { ", when \($0)" } ?? ", at every execution"))
        }
        return reasons
    }
}
