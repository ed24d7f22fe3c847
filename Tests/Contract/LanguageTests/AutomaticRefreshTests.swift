import Catalog
import Execution
import Foundation
import JSON
import LiveModel
import Postgres
import SchemaMigration
import SchemaModel
import Testing

extension Language {
    @Suite struct AutomaticRefreshes {
        private func run(
            seed: UInt64, transitions: Int, _ source: AutomaticRefresh.Source = .mutations,
            tamper: @escaping (RowChanges) -> RowChanges = { $0 },
            tamperRead: @escaping ([RowsRead]) -> [RowsRead] = { $0 }
        ) async throws -> AutomaticRefreshOracle.Summary {
            let schema = try AutomaticRefreshOracle.catalog().schema
            let statements = Migration.create(schema).map(\.sql) + AutomaticRefreshOracle.followingKeys(schema)
            return try await LanguageServer.withOwnDatabase(fill: { pool in
                try await pool.script(ServiceSchema.sql)
                try await pool.script((statements + [AutomaticRefreshOracle.views]).joined(separator: ";\n"))
                // Whatever mutations or others write, the database adds to it.
                if source != .mutations { try await pool.script(Self.triggers) }
            }) { pool in
                var oracle = AutomaticRefreshOracle(
                    seed: seed, source: source, tamper: tamper, tamperRead: tamperRead)
                return try await oracle.run(transitions: transitions, on: pool)
            }
        }

        private static let triggers =
            """
            CREATE FUNCTION score() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
              UPDATE player SET rank = least(rank + 1, 20) WHERE id = NEW.player_id; RETURN NEW; END $$;
            CREATE TRIGGER score AFTER INSERT ON entry FOR EACH ROW EXECUTE FUNCTION score();
            CREATE FUNCTION normal() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
              NEW.tag = lower(NEW.name); RETURN NEW; END $$;
            CREATE TRIGGER normal BEFORE UPDATE OF name ON player FOR EACH ROW EXECUTE FUNCTION normal();
            ALTER TABLE note REPLICA IDENTITY FULL;
            """

        @Test(arguments: [AutomaticRefresh.Source.mutations, .wal, .both])
        func everyResultThatChangesIsMatched(source: AutomaticRefresh.Source) async throws {
            let environment = ProcessInfo.processInfo.environment
            let seed = environment["FRESHET_ORACLE_SEED"].flatMap(UInt64.init) ?? .random(in: 0..<1_000_000)
            let transitions = environment["FRESHET_ORACLE_TRANSITIONS"].flatMap(Int.init) ?? 400
            print("automatic refreshes from \(source): seed \(seed), \(transitions) transitions")
            let summary = try await run(seed: seed, transitions: transitions, source)
            #expect(summary.misses.isEmpty, "seed \(seed): \(summary.misses.prefix(3))")
            // A query that never changes proves nothing.
            let (changed, matched) = (summary.changed.values.reduce(0, +), summary.matched.values.reduce(0, +))
            #expect(changed > transitions && summary.changed.count >= 15, "\(summary.changed)")
            // Neither does one that every change matches.
            let all = transitions * summary.liveQueries
            #expect(matched * 5 < all * 4, "\(matched) of \(all)")
            for (query, others) in AutomaticRefreshOracle.ofSQL where source == .mutations {
                for mutation in others { #expect(summary.matchedBy["\(query) after \(mutation)"] == nil) }
            }
            for (matched, changed) in [
                (summary.matched, summary.changed), (summary.matchedBy, summary.changedBy),
            ] {
                for (name, count) in matched.sorted(by: { $0.key < $1.key }) {
                    print("  \(source) \(name): \(changed[name] ?? 0) of \(count) matches changed the result")
                }
            }
        }

        /// Mistakes in what events tell.
        enum Mistake: CaseIterable {
            case rowsBefore, rowsAfter, otherTables, unknownIsNull, changedFields

            func apply(_ rows: RowChanges) -> RowChanges {
                switch self {
                case .rowsBefore:
                    RowChanges(
                        rows.all.map { RowChange(table: $0.table, before: nil, after: $0.after, changed: $0.changed) })
                case .rowsAfter:
                    RowChanges(
                        rows.all.map { RowChange(table: $0.table, before: $0.before, after: nil, changed: $0.changed) })
                case .otherTables: RowChanges(Array(rows.all.prefix(1)))
                case .unknownIsNull:
                    RowChanges(
                        rows.all.map { change in
                            var change = change
                            for field in ["teamId", "name", "kind", "id", "playerId", "active", "rank"] {
                                if change.before?[field] == nil { change.before?[field] = .null }
                                if change.after?[field] == nil { change.after?[field] = .null }
                            }
                            return change
                        })
                case .changedFields:
                    RowChanges(
                        rows.all.map { change in
                            var change = change
                            change.changed = change.changed.map { Array($0.dropFirst()) }
                            return change
                        })
                }
            }
        }

        @Test(arguments: Mistake.allCases)
        func aForgottenPartIsNoticed(mistake: Mistake) async throws {
            let summary = try await run(seed: 1, transitions: 150, tamper: mistake.apply)
            #expect(!summary.misses.isEmpty)
        }

        /// Mistakes in what runs tell of the rows that they read.
        enum MistakenRead: CaseIterable {
            case noBoundValue, aRowLess, rowsOfAnother, anEarlierEnd

            func apply(_ read: [RowsRead]) -> [RowsRead] {
                read.map { read in
                    var read = read
                    switch self {
                    case .noBoundValue: read.bound = read.bound.map { RowHashes($0.all.dropFirst()) }
                    case .aRowLess: read.shown = read.shown.map { RowHashes($0.all.dropFirst()) }
                    case .rowsOfAnother: read.shown = read.shown.map { RowHashes($0.all.map { $0 &+ 1 }) }
                    case .anEarlierEnd:
                        for list in read.lists.indices {
                            read.lists[list].last = read.lists[list].last.map {
                                if case .int(let number) = $0 { .int(number / 2) } else { $0 }
                            }
                        }
                    }
                    return read
                }
            }
        }

        @Test(arguments: MistakenRead.allCases)
        func aForgottenRowIsNoticed(mistake: MistakenRead) async throws {
            let summary = try await run(seed: 2, transitions: 300, tamperRead: mistake.apply)
            #expect(!summary.misses.isEmpty)
        }
    }
}
