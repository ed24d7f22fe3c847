package import Catalog
package import JSON
package import LiveModel
import Operations
package import Postgres
import QuerySQL
import Synchronization

/// Runs stored queries: single ones for requests, many variable sets in one statement for refreshes.
package final class QueryExecutor: Sendable {
    package struct Result: Sendable {
        package let answer: OperationAnswer
        /// The digest of the result as the database made it, entity ids included; of the visible result if checks or
        /// redaction removed a part.
        package let digest: Digest
        /// The rows read at each of the operation's sites that tell them; nil without such sites.
        package let rowsRead: [RowsRead]?

        init(answer: OperationAnswer, digest: Digest, rowsRead: [RowsRead]? = nil) {
            self.answer = answer
            self.digest = digest
            self.rowsRead = rowsRead
        }

        /// A result as the database made it.
        init(body: [UInt8], digest: Digest) {
            self.init(answer: OperationAnswer(body: body), digest: digest)
        }
    }

    /// One live query of a batch.
    package struct Item: Sendable {
        package let variables: JSONObject
        package let auth: Auth?
        package let knownDigest: Digest?

        package init(variables: JSONObject, auth: Auth?, knownDigest: Digest?) {
            self.variables = variables
            self.auth = auth
            self.knownDigest = knownDigest
        }

        var withoutKnownDigest: Item { Item(variables: variables, auth: auth, knownDigest: nil) }
    }

    package enum Outcome: Sendable {
        /// The result's digest is the known one.
        case unchanged
        case result(Result)
        /// The statement took longer than its mode permits, because of this item or another one.
        case cutShort
        case failed(RequestError)

        /// The answer to a call that knows no digest.
        var answer: Swift.Result<Result, RequestError> {
            switch self {
            case .result(let result): .success(result)
            case .failed(let error): .failure(error)
            case .unchanged, .cutShort: .failure(.noResult)
            }
        }
    }

    let pool: PostgresPool
    let replicas: PostgresReplicas?
    let clock: ServiceClock
    let resolvers: (any ResolverTransport)?
    let embeddings: (any EmbeddingTransport)?
    private let statements: StatementCache
    private let calls: CallBatcher
    /// Rotates the live query with which a batch starts to call custom resolvers.
    let remoteStart = Atomic<Int>(0)

    /// The most live queries in a batch that runs on the reader's and the connection's threads.
    private static let shortItemsMax = 8

    /// - Parameters:
    ///   - replicas: serve runs of many items, as fresh as the primary; nil: none.
    ///   - resolvers: nil where no operation has custom resolvers.
    ///   - embeddings: nil where no operation needs embeddings.
    ///   - callsMax: the most calls of one statement that run together when there are many at a time; 1: none.
    package init(
        pool: PostgresPool, replicas: PostgresReplicas? = nil, clock: ServiceClock,
        resolvers: (any ResolverTransport)? = nil, embeddings: (any EmbeddingTransport)? = nil,
        callsMax: Int = 1
    ) {
        let limits = CallQueue<WaitingCall>.Limits(batchMax: callsMax)
        statements = StatementCache(batchLimits: limits)
        calls = CallBatcher(pool: pool, limits)
        self.resolvers = resolvers
        self.embeddings = embeddings
        self.pool = pool
        self.replicas = replicas
        self.clock = clock
    }

    /// The number of times that the database's timeline changed; the latest commits may be lost each time.
    package var databaseChanges: Int { pool.timelineChanges }
    /// Identifies the database's current timeline; nil when the server does not report it.
    package var databaseTimeline: String? { pool.timeline }
    /// The statements that ran several calls together, and their calls, since the start.
    package var batchCounts: (batches: Int, calls: Int) { calls.counts }

    /// - Parameter caller: is charged for a slow statement.
    package func run(
        _ operation: StoredOperation, variables: JSONObject, auth: Auth?, caller: Caller = .unknown
    ) async throws(RequestError) -> Result {
        let embeddings = try await embeddings.embeddings(for: operation, variables)
        let nowMs = clock.nowMs()
        let call = try operation.queryCall(variables: variables, auth: auth, nowMs: nowMs, embeddings: embeddings)
        var result = try await run(call, of: operation, caller)
        if operation.hasRemoteFields { result = try await complete(result, operation, variables) }
        guard operation.isFinished else { return result }
        return try Self.finish(result, operation, variables, auth, nowMs)
    }

    /// Applies a query's `@check` and `@redact` and removes entity ids.
    private static func finish(
        _ result: Result, _ operation: StoredOperation, _ variables: JSONObject, _ auth: Auth?, _ nowMs: Int64
    ) throws(RequestError) -> Result {
        let finished = try operation.finish(result.answer.body, variables: variables, auth: auth, nowMs: nowMs)
        return Result(
            answer: finished.answer, digest: finished.isReduced ? finished.answer.digest : result.digest,
            rowsRead: finished.rowsRead)
    }

    private static func finish(
        _ outcome: Outcome, _ operation: StoredOperation, _ item: Item, _ nowMs: Int64
    ) -> Outcome {
        guard case .result(let result) = outcome else { return outcome }
        do throws(RequestError) {
            let shown = try finish(result, operation, item.variables, item.auth, nowMs)
            // A reduced result may hide that other rows were read.
            let tellsOtherRows = shown.rowsRead != nil && shown.digest != result.digest
            return shown.digest == item.knownDigest && !tellsOtherRows ? .unchanged : .result(shown)
        } catch {
            return .failed(error)
        }
    }

    private func run(
        _ call: QueryCall, of operation: StoredOperation, _ caller: Caller
    ) async throws(RequestError) -> Result {
        try await calls.run(statements.entry(for: call.statement, of: operation), call.parameters, caller)
    }

    /// Runs items of one operation, those of the same shape in one statement. Outcomes are in the order of the items,
    /// and a failed item does not affect the others.
    package func run(
        _ operation: StoredOperation, items: [Item], mode: PostgresPool.RefreshMode = .open, usesReplicas: Bool = true
    ) async -> [Outcome] {
        let embeddings = await embeddings.embeddings(for: operation, items)
        let nowMs = clock.nowMs()
        var outcomes = Self.noOutcomes(of: items)
        do {
            let (batches, failures) = try operation.queryBatches(
                count: items.count, nowMs: nowMs, embeddings: embeddings
            ) { index in
                (items[index].variables, items[index].auth)
            }
            for failure in failures { outcomes[failure.index] = .failed(failure.error) }
            let sent = operation.fetchesUnchanged ? items.map(\.withoutKnownDigest) : items
            for batch in batches {
                var run = BatchRun(count: batch.members.count)
                await finish(&run, operation, batch, sent, mode, usesReplicas: usesReplicas)
                Self.place(run, batch, into: &outcomes)
            }
        } catch {
            return Array(repeating: .failed(error), count: items.count)
        }
        if operation.hasRemoteFields {
            // Checks and redaction below change the digest once more.
            let known = operation.isFinished ? items.map(\.withoutKnownDigest) : items
            outcomes = await complete(outcomes, operation, known)
        }
        return Self.finish(outcomes, operation, items, nowMs)
    }

    /// Runs items without suspending, for hot paths. `completion` is called exactly once, usually on a connection's
    /// thread: it must be short and must not block.
    package func run(
        _ operation: StoredOperation, items: [Item], mode: PostgresPool.RefreshMode = .open,
        completion: @escaping @Sendable ([Outcome]) -> Void
    ) {
        let nowMs = clock.nowMs()
        // Longer work needs a task: many results, several statements, replicas, resolvers, embeddings.
        guard items.count <= Self.shortItemsMax, replicas == nil, !operation.hasRemoteFields, !operation.hasEmbeddings,
            let (batches, failures) = try? operation.queryBatches(
                count: items.count, nowMs: nowMs, item: { (items[$0].variables, items[$0].auth) }),
            failures.isEmpty, batches.count == 1, let batch = batches.first
        else {
            Task { completion(await run(operation, items: items, mode: mode)) }
            return
        }
        let all = batch.members.indices
        let sent = operation.fetchesUnchanged ? items.map(\.withoutKnownDigest) : items
        let statement = statements.entry(for: batch.statement, of: operation).multiplexed
        @Sendable func complete(_ run: BatchRun) {
            var outcomes = Self.noOutcomes(of: items)
            Self.place(run, batch, into: &outcomes)
            completion(Self.finish(outcomes, operation, items, nowMs))
        }
        let parameters = BatchStatement.parameters(of: batch, all, sent)
        pool.query(statement, parameters, for: .refresh(count: items.count, mode)) { answer in
            var run = BatchRun(count: all.count)
            _ = run.next()
            switch answer {
            case .success(let rows): run.answered(all, rows.rows.lazy.compactMap(\.ofBatch))
            case .failure(let error): run.failed(all, error)
            }
            if run.isOver { return complete(run) }
            let started = run
            Task {
                var run = started
                await self.finish(&run, operation, batch, sent, mode)
                complete(run)
            }
        }
    }

    private static func finish(
        _ outcomes: [Outcome], _ operation: StoredOperation, _ items: [Item], _ nowMs: Int64
    ) -> [Outcome] {
        guard operation.isFinished else { return outcomes }
        var outcomes = outcomes
        for index in outcomes.indices { outcomes[index] = finish(outcomes[index], operation, items[index], nowMs) }
        return outcomes
    }

    private static func noOutcomes(of items: [Item]) -> [Outcome] {
        Array(repeating: .failed(.noResult), count: items.count)
    }

    /// Runs the remaining statements of a batch.
    private func finish(
        _ run: inout BatchRun, _ operation: StoredOperation, _ batch: QueryBatch, _ items: [Item],
        _ mode: PostgresPool.RefreshMode, usesReplicas: Bool = true
    ) async {
        let statement = statements.entry(for: batch.statement, of: operation).multiplexed
        while let members = run.next() {
            let parameters = BatchStatement.parameters(of: batch, members, items)
            do {
                let onReplica = usesReplicas ? try await replicas?.query(statement, parameters, mode) : nil
                let rows =
                    if let onReplica { onReplica } else {
                        try await pool.query(statement, parameters, for: .refresh(count: members.count, mode))
                    }
                run.answered(members, rows.rows.lazy.compactMap(\.ofBatch))
            } catch {
                run.failed(members, error)
            }
        }
    }

    /// Stores each member's outcome at its item's index.
    private static func place(_ run: BatchRun, _ batch: QueryBatch, into outcomes: inout [Outcome]) {
        for (index, outcome) in zip(batch.members, run.outcomes) { outcomes[index] = outcome }
    }
}

extension RequestError {
    static let noResult = RequestError(.internalError, "the statement gave no result")
}
