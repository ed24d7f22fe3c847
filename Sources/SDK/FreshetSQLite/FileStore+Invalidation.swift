package import FreshetStore
import GRDB

/// Invalidations by the server. They concern the caches of all users.
extension FileStore {
    /// Up to where the cache knows the history of invalidations; nil if it knows none and is empty.
    package func invalidationPosition() -> String? {
        try? queue.read { db in
            if let position = try String.fetchOne(db, sql: "SELECT position FROM invalidation") { return position }
            // Results that came before any position: no history has this one, so the server says to drop everything.
            return try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM result)") == true ? "0-none" : nil
        }
    }

    /// Removes what is selected and keeps the position, both or neither.
    package func invalidate(_ selection: StoreSelection, position: String) {
        queue.asyncWrite(
            { db in
                for result in try Self.results(selection, db) { try Self.remove(result.key, result.scope, db) }
                try db.execute(
                    sql: "INSERT OR REPLACE INTO invalidation (id, position) VALUES (1, ?)", arguments: [position])
            }, completion: { _, _ in })
    }

    private static func results(
        _ selection: StoreSelection, _ db: Database
    ) throws -> [(scope: String, key: String)] {
        var found: [Row] = []
        if selection.isEverything {
            found = try Row.fetchAll(db, sql: "SELECT scope, key FROM result")
        } else {
            for operation in selection.operations.sorted() {
                // The key begins with the operation and a space.
                found += try Row.fetchAll(
                    db, sql: "SELECT scope, key FROM result WHERE substr(key, 1, length(?1) + 1) = ?1 || ' '",
                    arguments: [operation])
            }
            for id in selection.entities.sorted() {
                found += try Row.fetchAll(
                    db,
                    sql: """
                        SELECT r.scope, r.result FROM (SELECT DISTINCT scope FROM result) s
                        JOIN reference r ON r.scope = s.scope AND r.entity = ?
                        """, arguments: [id.description])
            }
        }
        return found.map { ($0[0], $0[1]) }
    }
}
