package import FreshetQueue
package import FreshetStore
package import FreshetTypes
import GRDB
import JSON

/// The file of a connector: results and rows of every user, and the mutations that wait. SQLite with a write-ahead log
/// and one writer. A process that is killed loses no acknowledged write.
///
/// `scope` is a user. A file holds no tokens; it is not encrypted beyond what the system does for the app's files.
package final class FileStore: Sendable {
    let queue: DatabaseQueue
    private let bytesMax: Int

    /// Opens or creates the file. One that is damaged, or no database, is moved aside, and a new one begins.
    /// - Parameter bytesMax: the bound on results and rows; those least recently used go first.
    /// - Throws: `FreshetError.storage`, also if the file is in use, its disk full or the device locked: then it stays,
    ///   since mutations may wait in it.
    package init(path: String, bytesMax: Int) throws(FreshetError) {
        self.bytesMax = bytesMax
        do {
            queue = try Self.openOrReplace(path)
        } catch {
            throw FreshetError(.storage, "the cache's file cannot be opened: \(error)")
        }
    }

    private static func openOrReplace(_ path: String) throws -> DatabaseQueue {
        do {
            return try open(path)
        } catch let error as DatabaseError
            where error.resultCode == .SQLITE_CORRUPT || error.resultCode == .SQLITE_NOTADB
        {
            try moveAside(path)
            return try open(path)
        }
    }

    private static func open(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.journalMode = .wal
        configuration.busyMode = .timeout(5)
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        try FileSchema.migrator.migrate(queue)
        return queue
    }

    package func close() { try? queue.close() }

    // MARK: Results

    /// A result with all of its rows; nil if there is none of this revision.
    package func result(_ key: ResultKey, revision: String, scope: String, nowMs: Int64) async -> SavedResult? {
        try? await queue.write { db in
            guard
                let row = try Row.fetchOne(
                    db, sql: "SELECT tree, fetched_at, tag FROM result WHERE scope = ? AND key = ? AND revision = ?",
                    arguments: [scope, key.text, revision]),
                let tree = Self.json(row[0]).flatMap(ResultTree.init(stored:))
            else { return nil }
            try db.execute(
                sql: "UPDATE result SET used_at = ? WHERE scope = ? AND key = ?", arguments: [nowMs, scope, key.text])
            var records: [EntityID: EntityRecord] = [:]
            let rows = try Row.fetchCursor(
                db,
                sql: """
                    SELECT e.id, e.type, e.key, e.fields FROM reference r
                    JOIN entity e ON e.scope = r.scope AND e.id = r.entity
                    WHERE r.scope = ? AND r.result = ?
                    """, arguments: [scope, key.text])
            while let row = try rows.next() {
                guard let key = Self.json(row[2])?.arrayValue, let fields = Self.json(row[3])?.objectValue else {
                    continue
                }
                records[EntityID(row[0])] = EntityRecord(type: row[1], key: key, fields: fields)
            }
            return SavedResult(
                key: key, revision: revision, fetchedAtMs: row[1], tag: row[2], tree: tree, rows: Set(records.keys),
                records: records)
        }
    }

    private static func json(_ bytes: [UInt8]) -> JSONValue? {
        try? JSONParser.parse(bytes, limits: JSONLimits(bytesMax: .max))
    }

    private static func json(_ data: DatabaseValue) -> JSONValue? {
        guard case .string(let text) = data.storage else { return nil }
        return json(Array(text.utf8))
    }

    /// Keeps changes of results, in the order of the calls.
    package func save(_ changes: [SavedResult], scope: String, nowMs: Int64) {
        guard !changes.isEmpty else { return }
        queue.asyncWrite(
            { [bytesMax] db in
                for change in changes { try Self.save(change, scope, nowMs, db) }
                try Self.trim(db, to: bytesMax)
            }, completion: { _, _ in })
    }

    private static func save(_ change: SavedResult, _ scope: String, _ nowMs: Int64, _ db: Database) throws {
        let key = change.key.text
        if let tree = change.tree {
            let text = tree.stored.description
            try db.execute(
                sql: """
                    INSERT INTO result (scope, key, revision, tree, fetched_at, tag, used_at, bytes)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                    ON CONFLICT (scope, key) DO UPDATE SET revision = excluded.revision, tree = excluded.tree,
                    fetched_at = excluded.fetched_at, tag = excluded.tag, used_at = excluded.used_at,
                    bytes = excluded.bytes
                    """,
                arguments: [
                    scope, key, change.revision, text, change.fetchedAtMs, change.tag, nowMs,
                    text.utf8.count + key.utf8.count + 48 * change.rows.count,
                ])
            let former = try String.fetchSet(
                db, sql: "SELECT entity FROM reference WHERE scope = ? AND result = ?", arguments: [scope, key])
            let current = Set(change.rows.map(\.description))
            let insertion = try db.cachedStatement(
                sql: "INSERT INTO reference (scope, result, entity) VALUES (?, ?, ?)")
            for id in current.subtracting(former) { try insertion.execute(arguments: [scope, key, id]) }
            let deletion = try db.cachedStatement(
                sql: "DELETE FROM reference WHERE scope = ? AND result = ? AND entity = ?")
            for id in former.subtracting(current) {
                try deletion.execute(arguments: [scope, key, id])
                try Self.deleteUnreferenced(id, scope, db)
            }
        } else {
            try db.execute(
                sql: "UPDATE result SET fetched_at = ?, tag = ? WHERE scope = ? AND key = ?",
                arguments: [change.fetchedAtMs, change.tag, scope, key])
        }
        for (id, record) in change.records where try save(id, record, scope, db) {
            // The others are no longer what the server named.
            try db.execute(
                sql: """
                    UPDATE result SET tag = NULL WHERE scope = ?1 AND key <> ?2 AND tag IS NOT NULL
                    AND key IN (SELECT result FROM reference WHERE scope = ?1 AND entity = ?3)
                    """, arguments: [scope, key, id.description])
        }
    }

    /// The fields that are in the file but not in memory remain.
    /// - Returns: whether a row that was in the file has changed.
    private static func save(
        _ id: EntityID, _ record: EntityRecord, _ scope: String, _ db: Database
    ) throws -> Bool {
        let former = try db.cachedStatement(sql: "SELECT fields FROM entity WHERE scope = ? AND id = ?")
        var fields = record.fields
        var hasChanged = false
        if let text = try String.fetchOne(former, arguments: [scope, id.description]),
            let known = json(Array(text.utf8))?.objectValue
        {
            fields = EntityRecord(type: record.type, key: record.key, fields: known).merging(record.fields).fields
            hasChanged = known.contains { fields[$0.key] != $0.value }
        }
        let text = JSONValue.object(fields).description
        let key = JSONValue.array(record.key).description
        let statement = try db.cachedStatement(
            sql: """
                INSERT INTO entity (scope, id, type, key, fields, bytes) VALUES (?, ?, ?, ?, ?, ?)
                ON CONFLICT (scope, id) DO UPDATE SET fields = excluded.fields, bytes = excluded.bytes
                """)
        try statement.execute(arguments: [
            scope, id.description, record.type, key, text, text.utf8.count + key.utf8.count + 64,
        ])
        return hasChanged
    }

    private static func deleteUnreferenced(_ id: String, _ scope: String, _ db: Database) throws {
        let statement = try db.cachedStatement(
            sql: """
                DELETE FROM entity WHERE scope = ?1 AND id = ?2
                AND NOT EXISTS (SELECT 1 FROM reference WHERE scope = ?1 AND entity = ?2)
                """)
        try statement.execute(arguments: [scope, id])
    }

    static func remove(_ key: String, _ scope: String, _ db: Database) throws {
        let rows = try String.fetchAll(
            db, sql: "SELECT entity FROM reference WHERE scope = ? AND result = ?", arguments: [scope, key])
        try db.execute(sql: "DELETE FROM reference WHERE scope = ? AND result = ?", arguments: [scope, key])
        try db.execute(sql: "DELETE FROM result WHERE scope = ? AND key = ?", arguments: [scope, key])
        for id in rows { try deleteUnreferenced(id, scope, db) }
    }

    /// Deletes the results least recently used, of any user, down to nine tenths of the bound.
    private static func trim(_ db: Database, to bytesMax: Int) throws {
        func size() throws -> Int { try Int.fetchOne(db, sql: "SELECT bytes FROM size") ?? 0 }
        guard try size() > bytesMax else { return }
        while try size() > bytesMax / 10 * 9 {
            let oldest = try Row.fetchAll(db, sql: "SELECT scope, key FROM result ORDER BY used_at LIMIT 16")
            if oldest.isEmpty { return }
            for row in oldest {
                try remove(row[1], row[0], db)
                if try size() <= bytesMax / 10 * 9 { return }
            }
        }
    }

    /// The size of results and rows as `bytesMax` counts it.
    package func bytes() async -> Int {
        let size = try? await queue.read { try Int.fetchOne($0, sql: "SELECT bytes FROM size") }
        return size.flatMap { $0 } ?? 0
    }

    package func remove(_ keys: [ResultKey], scope: String) {
        queue.asyncWrite({ db in for key in keys { try Self.remove(key.text, scope, db) } }, completion: { _, _ in })
    }

    /// Empties the cache of all users. Mutations that wait stay. It is done also if the caller's task is cancelled.
    /// - Throws: `FreshetError.storage`: nothing is removed.
    package func clear() async throws(FreshetError) {
        let clearing = Task { [queue] in
            try await queue.write { db in
                for table in ["reference", "entity", "result"] { try db.execute(sql: "DELETE FROM \(table)") }
            }
        }
        do {
            try await clearing.value
        } catch {
            throw FreshetError(.storage, "the cache cannot be emptied: \(error)")
        }
    }

    /// Waits until all writes so far are in the file.
    package func flush() async { try? await queue.write { _ in } }

    // MARK: Mutations

    /// The mutations that wait, in their order.
    package func mutations(scope: String) async -> [QueuedMutation] {
        let found = try? await queue.read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT id, operation, variables, grouping, changes, enqueued_at, first_sent_at FROM mutation
                    WHERE scope = ? ORDER BY number
                    """, arguments: [scope]
            ).map {
                QueuedMutation(
                    id: $0[0], operation: $0[1], variables: $0[2], group: $0[3], changes: $0[4], enqueuedAtMs: $0[5],
                    firstSentAtMs: $0[6])
            }
        }
        return found ?? []
    }

    /// - Throws: `FreshetError.storage`: the mutation is not kept.
    package func save(_ mutation: QueuedMutation, scope: String) async throws(FreshetError) {
        do {
            try await queue.write { db in
                try db.execute(
                    sql: """
                        INSERT INTO mutation
                        (id, scope, operation, variables, grouping, changes, enqueued_at, first_sent_at)
                        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                        ON CONFLICT (id) DO UPDATE SET first_sent_at = excluded.first_sent_at
                        """,
                    arguments: [
                        mutation.id, scope, mutation.operation, mutation.variables, mutation.group, mutation.changes,
                        mutation.enqueuedAtMs, mutation.firstSentAtMs,
                    ])
            }
        } catch {
            throw FreshetError(.storage, "the mutation cannot be kept: \(error)")
        }
    }

    package func deleteMutation(_ id: String) async {
        try? await queue.write { try $0.execute(sql: "DELETE FROM mutation WHERE id = ?", arguments: [id]) }
    }
}

extension ResultKey {
    /// The operation and its variables as one text.
    fileprivate var text: String { operation + " " + variables }
}
