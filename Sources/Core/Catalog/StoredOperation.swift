package import JSON
package import LiveModel
package import Operations
package import QuerySQL
import SchemaModel

/// One query or mutation that clients can run by name, compiled.
///
/// A class, so that the many holders of an operation share one cache of its statements. Immutable but for that cache.
package final class StoredOperation: Sendable {
    package typealias Kind = OperationTree.Kind

    package let reference: OperationReference
    package let kind: Kind
    /// SHA-256 over the operation, the fragments it uses and the schema.
    package let version: Digest
    package let variables: [VariableSpec]
    /// The source as stored: the operation, then the fragments it uses.
    package let text: String
    package let auth: AuthRule
    /// What the values in the SQL and, for a query, its refresh conditions read of the requester's auth: part of the
    /// key of a live query. `@auth` itself is not in it, it is decided for each subscriber.
    package let authReads: AuthReads
    /// `.none` for a mutation.
    package let refresh: RefreshRules
    /// SQL names of the tables in which a mutation may write rows by their primary key, sorted. Empty for a query.
    package let tablesWrittenByKey: [String]
    /// `@transaction`
    package let isTransaction: Bool

    /// What it reads and writes, for explanations.
    package let readWriteSet: ReadWriteSet
    private let coercion: VariableCoercion
    /// Where vectors are asked for.
    let embeddings: [EmbeddingSource]
    /// Fields of a query that custom resolvers answer.
    let remoteFields: [(inclusion: Inclusion, field: RemoteField)]
    let query: QueryPlan?
    let mutation: [MutationPlan]
    private let results: ResultForm
    /// Whether the fields of a mutation must run one after the other, because a value reads what an earlier one gave or
    /// a `@check` decides whether the next one runs.
    package let isStepwise: Bool

    init(_ tree: OperationTree, schema: Schema, version: Digest) {
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
        coercion = VariableCoercion(
            variables: tree.variables, scalars: ScalarCoercion(enums: schema.enums), schema: schema)
        switch tree.root {
        case .query(let fields):
            query = QueryPlan(fields, schema: schema, dynamicVariables: tree.dynamicVariables)
            mutation = []
        case .mutation(let fields):
            query = nil
            mutation = fields.map {
                MutationPlan($0, schema: schema, dynamicVariables: tree.dynamicVariables)
            }
        }
        tablesWrittenByKey = Set(mutation.flatMap(\.tablesWrittenByKey)).sorted()
        results = tree.results
        embeddings = tree.embeddings
        remoteFields = tree.remoteFields
        isStepwise = tree.isStepwise
    }

    /// Whether the caller may run it: `@auth`. Nil for yes. `variables` are coerced.
    package func authorize(auth: Auth?, variables: JSONObject, nowMs: Int64) -> RequestError? {
        self.auth.authorize(
            auth: auth, variables: variables, nowMs: nowMs, operationName: reference.operation)
    }

    /// Variables as sent, checked and in canonical form (see `ScalarCoercion`): defaults applied, what was not sent is
    /// absent, an explicit null stays. The result has the order of the declaration.
    /// - Throws: `.invalidVariable`, naming the variable and the path inside it.
    package func coerce(_ variables: JSONObject) throws(RequestError) -> JSONObject {
        try coercion.coerce(variables)
    }

    /// The rows that the executed top-level fields look up by primary key: what an implicit refresh listens to. A
    /// field without a complete key, such as `id_expr: "auth.uid"` when signed out, listens to nothing.
    /// `variables` are coerced.
    package func lookupKeys(variables: JSONObject, auth: Auth?) -> [EntityKey] {
        query?.lookupKeys(invocation(variables, auth, nowMs: 0)) ?? []
    }

    /// The statement and its parameters. `variables` are coerced.
    /// - Parameter embeddings: of `embeddingTexts`.
    /// - Throws: `.invalidVariable` when an expression of the operation has no value; why a text has no vector;
    ///   `.badRequest` for a mutation.
    package func queryCall(
        variables: JSONObject, auth: Auth?, nowMs: Int64, embeddings: Embeddings = .none
    ) throws(RequestError) -> QueryCall {
        guard let query else { throw RequestError(.badRequest, "\"\(reference.operation)\" is not a query") }
        return try query.call(invocation(variables, auth, nowMs: nowMs, embeddings))
    }

    /// The same for many requests at once, grouped by shape; those whose expressions have no value and whose texts no
    /// vector stand in `failures`.
    /// - Parameter embeddings: of the `embeddingTexts` of all.
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

    /// The steps and their parameters. `variables` are coerced; `makeUUID` gives a fresh random UUID for each call.
    /// - Parameter embeddings: of `embeddingTexts`.
    /// - Throws: `.invalidVariable` when an expression has no value or a filter would be left without a test; why a
    ///   text has no vector; `.badRequest` for a query.
    package func mutationCall(
        variables: JSONObject, auth: Auth?, nowMs: Int64, embeddings: Embeddings = .none, makeUUID: () -> String
    ) throws(RequestError) -> MutationCall {
        guard kind == .mutation else {
            throw RequestError(.badRequest, "\"\(reference.operation)\" is not a mutation")
        }
        let outcome: Result<MutationCall, RequestError> = withoutActuallyEscaping(makeUUID) { makeUUID in
            let invocation = Invocation(
                variables: variables, auth: auth, nowMs: nowMs, operationName: reference.operation,
                embeddings: embeddings, makeUUID: makeUUID)
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

    /// The run of a mutation field by field, for `isStepwise`. `variables` are coerced.
    package func mutationRun(
        variables: JSONObject, auth: Auth?, nowMs: Int64, embeddings: Embeddings = .none,
        makeUUID: @escaping @Sendable () -> String
    ) -> MutationRun {
        MutationRun(
            plans: mutation, policy: results.policy, isTransaction: isTransaction,
            invocation: Invocation(
                variables: variables, auth: auth, nowMs: nowMs, operationName: reference.operation,
                embeddings: embeddings, makeUUID: makeUUID))
    }

    /// Whether results of this query need `finish`.
    package var isFinished: Bool { kind == .query && (results.hasPolicy || results.hasEntityIDs) }

    /// Whether a `@check` of this query may fail by itself as time passes, though its result stays the same.
    package var hasChecksOfTime: Bool { results.policy?.readsRequestTime ?? false }

    /// What of a query's result may be shown: what is redacted is taken out, what a failed `@check` withholds is null
    /// (see `RootFieldOrder`), and the ids of entities stand apart.
    /// - Parameter text: the result as the database made it.
    /// - Throws: `.permissionDenied` with the message of a check that does not hold and leaves nothing to be shown.
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

    /// How often the cache of statements was full and started over; 0 in a sound operation.
    package var statementEvictionCount: Int {
        (query?.evictionCount ?? 0) + mutation.reduce(0) { $0 + $1.evictionCount }
    }
}
