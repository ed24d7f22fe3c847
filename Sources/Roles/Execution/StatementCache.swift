import Catalog
import LiveModel
import Postgres
import QuerySQL
import Synchronization

/// The prepared-statement values of catalog statements, so that each text is hashed once.
///
/// Keyed by identity; the catalog's own caches bound how many shapes live, and this one starts over at `entriesMax`.
final class StatementCache: Sendable {
    struct Entry: Sendable {
        /// Keeps the identity from being reused.
        let owner: QueryStatement
        let single: Statement
        let multiplexed: Statement
        /// Nil for a statement that is made for one request.
        let calls: CallBatcher.Calls?
    }

    private struct Write: Sendable {
        /// Keeps the identity from being reused.
        let owner: MutationStatement
        let statement: Statement
    }

    /// The most entries, queries and mutations together.
    static let entriesMax = 16_384
    private let entries = Mutex<[ObjectIdentifier: Entry]>([:])
    private let writes = Mutex<[ObjectIdentifier: Write]>([:])
    /// The texts that also store their part of the answer, for mutations with an idempotency key.
    private let stores = Mutex<[ObjectIdentifier: Write]>([:])

    private let batchLimits: CallQueue<WaitingCall>.Limits

    /// - Parameter batchLimits: the limits of a query's calls that run together.
    init(batchLimits: CallQueue<WaitingCall>.Limits = .init()) {
        self.batchLimits = batchLimits
    }

    func entry(for statement: QueryStatement, of operation: StoredOperation) -> Entry {
        func made(_ calls: CallBatcher.Calls?) -> Entry {
            Entry(
                owner: statement, single: Statement(statement.single), multiplexed: Statement(statement.multiplexed),
                calls: calls)
        }
        if operation.isAdHoc { return made(nil) }
        return entries.withLock { entries in
            if let entry = entries[ObjectIdentifier(statement)] { return entry }
            if entries.count >= Self.entriesMax { entries = [:] }
            let entry = made(CallBatcher.Calls(batchLimits))
            entries[ObjectIdentifier(statement)] = entry
            return entry
        }
    }

    func statement(for text: MutationStatement, of operation: StoredOperation) -> Statement {
        if text.isUnique || operation.isAdHoc { return Statement(text.sql) }
        return Self.cached(writes, text) { Statement(text.sql) }
    }

    /// Returns the statement of a step that also stores its part of the answer.
    func storing(_ step: MutationStep, of operation: StoredOperation) -> Statement {
        if step.statement.isUnique || operation.isAdHoc { return Statement(step.storingSQL) }
        return Self.cached(stores, step.statement) { Statement(step.storingSQL) }
    }

    private static func cached(
        _ cache: borrowing Mutex<[ObjectIdentifier: Write]>, _ text: MutationStatement, _ make: () -> Statement
    ) -> Statement {
        cache.withLock { cache in
            if let known = cache[ObjectIdentifier(text)] { return known.statement }
            if cache.count >= entriesMax { cache = [:] }
            let statement = make()
            cache[ObjectIdentifier(text)] = Write(owner: text, statement: statement)
            return statement
        }
    }
}

extension StoredOperation {
    /// Whether this is an administrator's text, compiled for one request.
    fileprivate var isAdHoc: Bool { reference.connector == Catalog.adHocConnector }
}
