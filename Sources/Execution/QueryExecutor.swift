package import Catalog
package import JSON
package import LiveModel
package import Postgres

/// Runs stored queries: one by one for requests, many variable sets in one statement for refreshes.
package final class QueryExecutor: Sendable {
    package struct Result: Sendable {
        package let body: [UInt8]
        package let digest: Digest
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
    }

    package enum Outcome: Sendable {
        /// The result has the known digest.
        case unchanged
        case result(Result)
        case failed(RequestError)
    }

    private let pool: PostgresPool
    private let clock: ServiceClock
    private let statements = StatementCache()

    package init(pool: PostgresPool, clock: ServiceClock) {
        self.pool = pool
        self.clock = clock
    }

    package func run(
        _ operation: StoredOperation, variables: JSONObject, auth: Auth?
    ) async throws(RequestError) -> Result {
        let call = try operation.queryCall(variables: variables, auth: auth, nowMs: clock.nowMs())
        return try await run(call)
    }

    private func run(_ call: QueryCall) async throws(RequestError) -> Result {
        let rows: ResultSet
        do {
            rows = try await pool.query(
                statements.entry(for: call.statement).single, call.parameters.map { Parameter($0) })
        } catch {
            throw RequestError(error)
        }
        guard let row = rows.rows.first, let body = row[0], let digest = row.digest(1)
        else {
            throw RequestError(.internalError, "the statement gave no result")
        }
        return Result(body: body, digest: digest)
    }

    /// Runs items of one operation, those of the same shape in one statement. Outcomes are in the order of the items;
    /// one item's failure does not touch the others.
    package func run(_ operation: StoredOperation, items: [Item]) async -> [Outcome] {
        let nowMs = clock.nowMs()
        var outcomes: [Outcome?] = Array(repeating: nil, count: items.count)
        var groups: [ObjectIdentifier: (statement: QueryStatement, members: [(index: Int, call: QueryCall)])] = [:]
        for (index, item) in items.enumerated() {
            do {
                let call = try operation.queryCall(variables: item.variables, auth: item.auth, nowMs: nowMs)
                groups[ObjectIdentifier(call.statement), default: (call.statement, [])].members.append((index, call))
            } catch {
                outcomes[index] = .failed(error)
            }
        }
        for group in groups.values {
            let found = await run(
                group.statement, group.members, known: group.members.map { items[$0.index].knownDigest })
            for (member, outcome) in zip(group.members, found) { outcomes[member.index] = outcome }
        }
        return outcomes.map { $0 ?? .failed(RequestError(.internalError, "the statement gave no result")) }
    }

    private func run(
        _ statement: QueryStatement, _ members: [(index: Int, call: QueryCall)], known: [Digest?]
    ) async -> [Outcome] {
        var parameters: [Parameter] = []
        for position in statement.parameterTypes.indices {
            parameters.append(
                .text(PostgresArray.literal(members.map { $0.call.parameters[position] })))
        }
        parameters.append(.text(PostgresArray.literal(known.map { $0?.hex })))
        do {
            let rows = try await pool.query(statements.entry(for: statement).multiplexed, parameters)
            var outcomes: [Outcome] = Array(
                repeating: .failed(RequestError(.internalError, "the statement gave no result")), count: members.count)
            for row in rows.rows {
                guard let ordinal = row.int(0), ordinal >= 1, ordinal <= members.count,
                    let digest = row.digest(1)
                else { continue }
                outcomes[ordinal - 1] = row[2].map { .result(Result(body: $0, digest: digest)) } ?? .unchanged
            }
            return outcomes
        } catch {
            let failure = RequestError(error)
            guard case .server = error.code, !failure.code.isRetryable, members.count > 1 else {
                return Array(repeating: .failed(failure), count: members.count)
            }
        }
        // One set of variables broke the statement for all: halving finds it without running each alone.
        let half = members.count / 2
        return await run(statement, Array(members[..<half]), known: Array(known[..<half]))
            + run(statement, Array(members[half...]), known: Array(known[half...]))
    }
}

extension Row {
    /// A column with 64 hexadecimal digits; nil for anything else.
    fileprivate func digest(_ column: Int) -> Digest? {
        withBytes(column) { bytes in bytes.flatMap { Digest(hexBytes: $0) } }
    }
}
