import Foundation
import GRDB

/// The tables of a connector's file.
enum FileSchema {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { db in
            try db.execute(
                sql: """
                    CREATE TABLE result (
                        scope TEXT NOT NULL, key TEXT NOT NULL, revision TEXT NOT NULL, tree TEXT NOT NULL,
                        fetched_at INTEGER NOT NULL, used_at INTEGER NOT NULL, bytes INTEGER NOT NULL,
                        PRIMARY KEY (scope, key));
                    CREATE INDEX result_used ON result (used_at);
                    CREATE TABLE entity (
                        scope TEXT NOT NULL, id TEXT NOT NULL, type TEXT NOT NULL, key TEXT NOT NULL,
                        fields TEXT NOT NULL, bytes INTEGER NOT NULL, PRIMARY KEY (scope, id)) WITHOUT ROWID;
                    CREATE TABLE reference (
                        scope TEXT NOT NULL, result TEXT NOT NULL, entity TEXT NOT NULL,
                        PRIMARY KEY (scope, result, entity)) WITHOUT ROWID;
                    CREATE INDEX reference_entity ON reference (scope, entity);
                    CREATE TABLE mutation (
                        number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, scope TEXT NOT NULL,
                        operation TEXT NOT NULL, variables TEXT NOT NULL, grouping TEXT NOT NULL,
                        changes TEXT NOT NULL, enqueued_at INTEGER NOT NULL, first_sent_at INTEGER);
                    CREATE TABLE size (bytes INTEGER NOT NULL);
                    INSERT INTO size VALUES (0);
                    """)
            // The sum of `bytes`, which every write compares with its bound.
            for table in ["result", "entity"] {
                try db.execute(
                    sql: """
                        CREATE TRIGGER \(table)_added AFTER INSERT ON \(table)
                        BEGIN UPDATE size SET bytes = bytes + NEW.bytes; END;
                        CREATE TRIGGER \(table)_changed AFTER UPDATE OF bytes ON \(table)
                        BEGIN UPDATE size SET bytes = bytes + NEW.bytes - OLD.bytes; END;
                        CREATE TRIGGER \(table)_removed AFTER DELETE ON \(table)
                        BEGIN UPDATE size SET bytes = bytes - OLD.bytes; END;
                        """)
            }
        }
        migrator.registerMigration("2") { db in try db.execute(sql: "ALTER TABLE result ADD COLUMN tag TEXT") }
        // Up to where the cache knows the history of invalidations; one row at most.
        migrator.registerMigration("3") { db in
            try db.execute(
                sql: "CREATE TABLE invalidation (id INTEGER PRIMARY KEY CHECK (id = 1), position TEXT NOT NULL)")
        }
        return migrator
    }
}

extension FileStore {
    /// Keeps an unreadable file beside the new one, for a look at it; an older such file goes.
    static func moveAside(_ path: String) throws {
        let files = FileManager.default
        for suffix in ["-wal", "-shm"] { try? files.removeItem(atPath: path + suffix) }
        try? files.removeItem(atPath: path + ".damaged")
        if files.fileExists(atPath: path) { try files.moveItem(atPath: path, toPath: path + ".damaged") }
    }
}
