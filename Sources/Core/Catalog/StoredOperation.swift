package import JSON
package import LiveModel
package import Operations
package import QuerySQL
package import Refresh
import SchemaModel

/// A compiled query or mutation that clients can run by name.
///
/// A class, so that all holders of an operation share its cache of statements. Immutable except for that cache.
package final class StoredOperation: Sendable {
    package typealias Kind = OperationTree.Kind

    package let reference: OperationReference
    package let kind: Kind
    /// The SHA-256 of the operation, the fragments it uses and the schema.
    package let version: Digest
    package let variables: [VariableSpec]
    /// The source as stored: the operation, then the fragments it uses.
    package let text: String
    package let auth: AuthRule
    /// The parts of the requester's auth that the SQL values and, for a query, its refresh conditions read; they are
    /// part of the live query's key. `@auth` itself is excluded, because it is evaluated for each subscriber.
    package let authReads: AuthReads
    /// `.none` for a mutation.
    package let refresh: RefreshRules
    /// The SQL names of the tables in which a mutation may write rows by primary key, sorted. Empty for a query.
    package let tablesWrittenByKey: [String]
    /// Whether the mutation has `@transaction`.
    package let isTransaction: Bool

    /// The tables and rows that the operation reads and writes, for explanations.
    package let readWriteSet: ReadWriteSet
    private let coercion: VariableCoercion
    /// The places where the operation needs an embedding.
    let embeddings: [EmbeddingSource]
    /// The fields of a query that custom resolvers answer.
    let remoteFields: [(inclusion: Inclusion, field: RemoteField)]
    let query: QueryPlan?
    let mutation: [MutationPlan]
    private let results: ResultForm
    /// Whether the fields of a mutation must run one after the other, because a value reads the result of an earlier
    /// field or a `@check` decides whether the next one runs.
    package let isStepwise: Bool
    let schema: Schema
    /// The fields to which a mutation itself gives values, by SQL table name.
    let givenFields: [String: Set<String>]
    /// The places where a query reads rows whose changes refresh it by themselves; nil if they do not.
    package let automaticSites: AutomaticSites?

    init(
        _ tree: OperationTree, schema: Schema, version: Digest, automatic: AutomaticSites.Use? = nil,
        source: AutomaticRefresh.Source = .mutations
    ) {
        self.schema = schema
        reference = tree.reference
        kind = tree.kind
        self.version = version
        variables = tree.variables
        text = tree.text
        auth = tree.auth
        authReads = tree.authReads
        refresh = tree.refresh
        isTransaction = tree.isTransaction
        readWriteSet = tree.readWriteSet
        automaticSites =
            automatic.map {
                AutomaticSites(
                    tree.readWriteSet.sites, operation: tree.reference, version: version, use: $0, source: source,
                    schema: schema)
            }
        coercion = VariableCoercion(
            variables: tree.variables, scalars: ScalarCoercion(enums: schema.enums), schema: schema)
        var carrying: [RootField] = []
        switch tree.root {
        case .query(let fields):
            let fields = fields.carrying(automaticSites?.sitesWithRows ?? [])
            carrying = fields
            query = QueryPlan(fields, schema: schema, dynamicVariables: tree.dynamicVariables)
            mutation = []
            givenFields = [:]
        case .mutation(let fields):
            query = nil
            mutation = fields.map {
                MutationPlan($0, schema: schema, dynamicVariables: tree.dynamicVariables)
            }
            givenFields = fields.reduce(into: [:]) { $1.kind.addGivenFields(to: &$0) }
        }
        tablesWrittenByKey = Set(mutation.flatMap(\.tablesWrittenByKey)).sorted()
        results = tree.results.carrying(carrying, automaticSites?.sitesWithRows ?? [])
        embeddings = tree.embeddings
        remoteFields = tree.remoteFields
        isStepwise = tree.isStepwise
    }

    /// Returns the error if `@auth` denies the caller; nil if it allows the run. `variables` are coerced.
    package func authorize(auth: Auth?, variables: JSONObject, nowMs: Int64) -> RequestError? {
        self.auth.authorize(
            auth: auth, variables: variables, nowMs: nowMs, operationName: reference.operation)
    }

    /// Checks variables as sent and returns their canonical form (see `ScalarCoercion`): defaults are applied, unsent
    /// variables are absent, an explicit null remains. The result is in order of declaration.
    /// - Throws: `.invalidVariable`, naming the variable and the path inside it.
    package func coerce(_ variables: JSONObject) throws(RequestError) -> JSONObject {
        try coercion.coerce(variables)
    }

    /// Returns the rows that the executed top-level fields look up by primary key; writes to them refresh the query
    /// implicitly. A field without a complete key, such as `id_expr: "auth.uid"` when signed out, has none. `variables`
    /// are coerced.
    package func lookupKeys(variables: JSONObject, auth: Auth?) -> [EntityKey] {
        query?.lookupKeys(invocation(variables, auth, nowMs: 0)) ?? []
    }

    /// Returns what refreshes a live query without a rule; nil if nothing does. `variables` are coerced.
    func automaticRules(variables: JSONObject, auth: Auth?) -> AutomaticRules? {
        var rules = automaticSites?.rules(invocation(variables, auth, nowMs: 0))
        rules?.isVerifiable = !readWriteSet.readsTime && !readWriteSet.isPartial && !fetchesUnchanged
        return rules
    }

    /// Returns the statement and its parameters. `variables` are coerced.
    /// - Parameter embeddings: those of `embeddingTexts`.
    /// - Throws: `.invalidVariable` if an expression of the operation has no value; the error of a text whose embedding
    ///   failed; `.badRequest` for a mutation.
    package func queryCall(
        variables: JSONObject, auth: Auth?, nowMs: Int64, embeddings: Embeddings = .none
    ) throws(RequestError) -> QueryCall {
        guard let query else { throw RequestError(.badRequest, "\"\(reference.operation)\" is not a query") }
        return try query.call(invocation(variables, auth, nowMs: nowMs, embeddings))
    }

    /// Returns the statements and parameters of many requests, grouped by shape. Requests with an expression that has
    /// no value, or with a text whose embedding failed, are in `failures`.
    /// - Parameter embeddings: those of all requests' `embeddingTexts`.
    /// - Throws: `.badRequest` for a mutation.
    package func queryBatches(
        count: Int, nowMs: Int64, embeddings: Embeddings = .none,
        item: (Int) -> (variables: JSONObject, auth: Auth?)
    ) throws(RequestError) -> (batches: [QueryBatch], failures: [(index: Int, error: RequestError)]) {
        guard let query else { throw RequestError(.badRequest, "\"\(reference.operation)\" is not a query") }
        return query.batches(count: count) { index in
            let (variables, auth) = item(index)
            return invocation(variables, auth, nowMs: nowMs, embeddings)
        }
    }

    /// Returns the steps and their parameters. `variables` are coerced; `makeUUID` returns a fresh random UUID for each
    /// call.
    /// - Parameters:
    ///   - embeddings: those of `embeddingTexts`.
    ///   - recordedFields: the fields, by table, whose values the steps tell of changed rows; nil to tell no changes.
    /// - Throws: `.invalidVariable` if an expression has no value or a filter would have no condition left; the error
    ///   of a text whose embedding failed; `.badRequest` for a query.
    package func mutationCall(
        variables: JSONObject, auth: Auth?, nowMs: Int64, embeddings: Embeddings = .none,
        recordedFields: [String: RecordedFields]? = nil, makeUUID: () -> String
    ) throws(RequestError) -> MutationCall {
        guard kind == .mutation else {
            throw RequestError(.badRequest, "\"\(reference.operation)\" is not a mutation")
        }
        let outcome: Result<MutationCall, RequestError> = withoutActuallyEscaping(makeUUID) { makeUUID in
            let invocation = Invocation(
                variables: variables, auth: auth, nowMs: nowMs, operationName: reference.operation,
                embeddings: embeddings, recordedFields: recordedFields, makeUUID: makeUUID)
            return Result { () throws(RequestError) -> MutationCall in
                var steps: [MutationStep] = []
                steps.reserveCapacity(mutation.count)
                for plan in mutation {
                    if let step = try plan.step(invocation) { steps.append(step) }
                }
                return MutationCall(isTransaction: isTransaction, steps: steps)
            }
        }
        return try outcome.get()
    }

    /// Returns a run of the mutation field by field, for `isStepwise`. `variables` are coerced.
    package func mutationRun(
        variables: JSONObject, auth: Auth?, nowMs: Int64, embeddings: Embeddings = .none,
        recordedFields: [String: RecordedFields]? = nil, makeUUID: @escaping @Sendable () -> String
    ) -> MutationRun {
        MutationRun(
            plans: mutation, policy: results.policy, isTransaction: isTransaction,
            invocation: Invocation(
                variables: variables, auth: auth, nowMs: nowMs, operationName: reference.operation,
                embeddings: embeddings, recordedFields: recordedFields, makeUUID: makeUUID))
    }

    /// Whether results of this query must pass through `finish`.
    package var isFinished: Bool {
        kind == .query && (results.hasPolicy || results.hasEntityIDs || results.tellsRows)
    }

    /// Whether a `@check` of this query may begin to fail as time passes, although its result stays the same.
    var hasChecksOfTime: Bool { results.policy?.readsRequestTime ?? false }

    /// Whether a run fetches the body even if the database's result is unchanged: a `@check` of the time may now fail,
    /// or a custom resolver may answer differently.
    package var fetchesUnchanged: Bool { hasChecksOfTime || hasRemoteFields }

    /// Returns the part of a query's result that may be shown: redacted fields are removed, a value that a failed
    /// `@check` withholds is null (see `RootFieldOrder`), and the entity ids are separate.
    /// - Parameter text: the result as the database produced it.
    /// - Throws: `.permissionDenied` with the message of a failed check if nothing may be shown.
    package func finish(
        _ text: [UInt8], variables: JSONObject, auth: Auth?, nowMs: Int64
    ) throws(RequestError) -> FinishedResult {
        try results.finish(text) { invocation(variables, auth, nowMs: nowMs) }
    }

    private func invocation(
        _ variables: JSONObject, _ auth: Auth?, nowMs: Int64, _ embeddings: Embeddings = .none
    ) -> Invocation {
        Invocation(
            variables: variables, auth: auth, nowMs: nowMs, operationName: reference.operation, embeddings: embeddings)
    }
}
