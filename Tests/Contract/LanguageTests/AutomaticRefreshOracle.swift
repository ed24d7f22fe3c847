import Catalog
import Execution
import Foundation
import JSON
import LiveModel
import Operations
import Postgres
import SchemaMigration
import SchemaModel
import SeededRandom
import Testing

@testable import Refresh

/// Random mutations against a real Postgres beside many live queries: after each commit, every live query whose result
/// differs from the one before must be among those that the event's row changes concern.
struct AutomaticRefreshOracle {
    static let schema =
        """
        enum Kind { OPEN CLOSED }
        type Team @table(key: "id") { id: Int! name: String! }
        type Player @table(key: "id") {
          id: Int! name: String! team: Team rank: Int! active: Boolean! tag: String
        }
        type Game @table(key: "id") { id: Int! title: String! kind: Kind! host: Player! }
        type Entry @table(key: ["game", "player"]) { game: Game! player: Player! points: Int! }
        type Note @table(key: "id") { id: Int! text: String! parent: Note player: Player }
        """

    static let queries =
        """
        query ByKey($id: Int!) @auth(level: PUBLIC) { player(id: $id) { name rank team { name } } }
        query First($n: String!) @auth(level: PUBLIC) {
          player(first: {where: {name: {eq: $n}}, orderBy: [{rank: DESC}]}) { id rank }
        }
        query OfTeam($t: Int!) @auth(level: PUBLIC) {
          players(where: {team: {id: {eq: $t}}}, orderBy: [{rank: ASC}], limit: 3) { id name }
        }
        query OfTeamOrAll($t: Int) @auth(level: PUBLIC) { players(where: {teamId: {eq: $t}}) { id active } }
        query Active($r: Int!) @auth(level: PUBLIC) {
          players(where: {active: {eq: true}, rank: {gt: $r}}, orderBy: [{id: ASC}]) { id }
        }
        query Second($t: Int!) @auth(level: PUBLIC) {
          players(where: {team: {id: {eq: $t}}}, orderBy: [{rank: ASC}], limit: 1, offset: 1) { name }
        }
        query Teams @auth(level: PUBLIC) {
          teams { id name players_on_team(orderBy: [{rank: DESC}], limit: 2) { name } }
        }
        query Team($t: Int!) @auth(level: PUBLIC) {
          team(id: $t) { name players_on_team { id entries_on_player { points } } }
        }
        query Games($k: Kind!) @auth(level: PUBLIC) {
          games(where: {kind: {eq: $k}}) { title host { name team { name } } players_via_Entry { name } }
        }
        query Won($p: Int!) @auth(level: PUBLIC) {
          games(where: {entries_on_game: {exist: {points: {gt: $p}}}}, orderBy: [{id: ASC}]) { id }
        }
        query Sums($t: Int!) @auth(level: PUBLIC) { players(where: {teamId: {eq: $t}}) { _count rank_sum } }
        query Groups @auth(level: PUBLIC) { players(orderBy: [{active: ASC}]) { active _count rank_max } }
        query Mine($id: Int!) @auth(level: PUBLIC) {
          entries(where: {player: {id: {eq: $id}}}, orderBy: [{points: DESC}]) { points game { title } }
        }
        query Either($n: String!, $r: Int!) @auth(level: PUBLIC) {
          players(where: {_or: [{name: {eq: $n}}, {rank: {eq: $r}}]}, orderBy: [{id: ASC}]) { id }
        }
        query ByRank @auth(level: PUBLIC) { entries(orderBy: [{player: {rank: ASC}}], limit: 2) { points } }
        query Tagged @auth(level: PUBLIC) {
          players(where: {tag: {isNull: false}}, orderBy: [{tag: ASC}]) { tag team { id } }
        }
        query Notes($id: Int!) @auth(level: PUBLIC) {
          notes(where: {player: {id: {eq: $id}}}) { text parent { text } notes_on_parent { id } }
        }
        query Open @auth(level: PUBLIC) { games(where: {kind: {eq: OPEN}}, orderBy: [{id: ASC}]) { id hostId } }
        query Filtered($filter: Player_Filter) @auth(level: PUBLIC) {
          players(where: $filter, orderBy: [{id: ASC}]) { id }
        }
        query Counted @auth(level: PUBLIC) { _select(sql: "SELECT count(*) AS n FROM entry", params: []) }
        """

    static let mutations =
        """
        mutation AddTeam($id: Int!, $n: String!) @auth(level: PUBLIC) { team_upsert(data: {id: $id, name: $n}) }
        mutation DropTeam($id: Int!) @auth(level: PUBLIC) { team_delete(id: $id) }
        mutation AddPlayer($id: Int!, $n: String!, $t: Int, $r: Int!) @auth(level: PUBLIC) {
          player_insert(data: {id: $id, name: $n, teamId: $t, rank: $r, active: true})
        }
        mutation PutPlayer($id: Int!, $n: String!, $t: Int, $r: Int!, $a: Boolean!) @auth(level: PUBLIC) {
          player_upsert(data: {id: $id, name: $n, teamId: $t, rank: $r, active: $a})
        }
        mutation AddPlayers($rows: [Player_Data!]!) @auth(level: PUBLIC) { player_insertMany(data: $rows) }
        mutation PutPlayers($rows: [Player_Data!]!) @auth(level: PUBLIC) { player_upsertMany(data: $rows) }
        mutation Move($id: Int!, $t: Int) @auth(level: PUBLIC) { player_update(id: $id, data: {teamId: $t}) }
        mutation Tag($id: Int!, $n: String) @auth(level: PUBLIC) { player_update(id: $id, data: {tag: $n}) }
        mutation Raise($id: Int!) @auth(level: PUBLIC) { player_update(id: $id, data: {rank_update: {inc: 1}}) }
        mutation Edit($id: Int!, $data: Player_Data!) @auth(level: PUBLIC) { player_update(id: $id, data: $data) }
        mutation Rename($from: Int!, $to: Int!) @auth(level: PUBLIC) { player_update(id: $from, data: {id: $to}) }
        mutation RenameTeam($t: Int!, $to: Int!) @auth(level: PUBLIC) { team_update(id: $t, data: {id: $to}) }
        mutation MoveAll($t: Int!, $to: Int) @auth(level: PUBLIC) {
          player_updateMany(where: {teamId: {eq: $t}}, data: {teamId: $to})
        }
        mutation Sleep($r: Int!) @auth(level: PUBLIC) {
          player_updateMany(where: {rank: {lt: $r}}, data: {active: false})
        }
        mutation DropPlayer($id: Int!) @auth(level: PUBLIC) { player_delete(id: $id) }
        mutation DropFirst($n: String!) @auth(level: PUBLIC) {
          player_delete(first: {where: {name: {eq: $n}}, orderBy: [{id: ASC}]})
        }
        mutation DropTagged($n: String!) @auth(level: PUBLIC) { player_deleteMany(where: {tag: {eq: $n}}) }
        mutation AddGame($id: Int!, $n: String!, $k: Kind!, $h: Int!, $p: Int!) @auth(level: PUBLIC) {
          game_insert(data: {id: $id, title: $n, kind: $k, hostId: $h, entries_on_game: [{playerId: $h, points: $p}]})
        }
        mutation SetKind($id: Int!, $k: Kind!) @auth(level: PUBLIC) { game_update(id: $id, data: {kind: $k}) }
        mutation DropGame($id: Int!) @auth(level: PUBLIC) { game_delete(id: $id) }
        mutation Score($g: Int!, $id: Int!, $p: Int!) @auth(level: PUBLIC) {
          entry_upsert(data: {gameId: $g, playerId: $id, points: $p})
        }
        mutation AddNote($id: Int!, $n: String!, $parent: Int, $player: Int) @auth(level: PUBLIC) {
          note_insert(data: {id: $id, text: $n, parentId: $parent, playerId: $player})
        }
        mutation DropNote($id: Int!) @auth(level: PUBLIC) { note_delete(id: $id) }
        mutation Two($id: Int!, $t: Int!, $n: String!) @auth(level: PUBLIC) @transaction {
          team_update(id: $t, data: {name: $n})
          player_update(id: $id, data: {name: $n, teamId: $t})
        }
        mutation Checked($id: Int!, $n: String!) @auth(level: PUBLIC) @transaction {
          query { player(id: $id) @check(expr: "this != null", message: "no such player") { id } }
          player_update(id: $id, data: {name: $n})
        }
        mutation Native($r: Int!) @auth(level: PUBLIC) {
          _execute(sql: "UPDATE player SET rank = rank + 1 WHERE rank = $1", params: [$r])
        }
        """

    /// The outcome of a run.
    struct Summary {
        var transitions = 0
        var liveQueries = 0
        /// Live queries that changed without a match, with the mutation.
        var misses: [String] = []
        /// Results that changed, and live queries that were matched, by query.
        var changed: [String: Int] = [:]
        var matched: [String: Int] = [:]
        /// The same by query and mutation: `OfTeam after Move`.
        var changedBy: [String: Int] = [:]
        var matchedBy: [String: Int] = [:]
    }

    private struct Live {
        let operation: StoredOperation
        let variables: JSONObject
        var rules: QueryRules
        var digest: Digest?
    }

    /// The live queries of one operation, which run as one batch.
    private typealias Group = (operation: StoredOperation, slots: [Int])

    private var random: SeededRandom
    /// Changes what events tell, to see that the oracle notices it.
    let tamper: (RowChanges) -> RowChanges

    init(seed: UInt64, tamper: @escaping (RowChanges) -> RowChanges = { $0 }) {
        random = SeededRandom(seed: seed)
        self.tamper = tamper
    }

    // MARK: Values

    private mutating func number(_ below: Int) -> Int { Int(random.next() % UInt64(below)) }
    private mutating func isLikely(_ percent: Int) -> Bool { number(100) < percent }

    private mutating func value(_ variable: String) -> JSONValue? {
        switch variable {
        case "t", "to": return isLikely(15) ? (isLikely(50) ? .null : nil) : .int(Int64(number(4)))
        case "id", "from", "player", "parent": return isLikely(10) ? .null : .int(Int64(number(12)))
        case "g", "h": return .int(Int64(number(12)))
        case "r", "p": return .int(Int64(number(8)))
        case "n": return isLikely(5) ? nil : .string(["ann", "bob", "cy", "Ann"][number(4)])
        case "k": return .string(isLikely(50) ? "OPEN" : "CLOSED")
        case "a": return .bool(isLikely(50))
        case "data": return .object(row(isWhole: false))
        case "rows": return .array((0...number(3)).map { _ in .object(row(isWhole: true)) })
        case "filter":
            return [
                ["teamId": ["eq": .int(Int64(number(4)))]], ["entries_on_player": ["exist": ["points": ["gt": 3]]]],
                [:],
            ][number(3)]
        default: return nil
        }
    }

    private mutating func row(isWhole: Bool) -> JSONObject {
        var row = JSONObject()
        if isWhole {
            row["id"] = .int(Int64(number(12)))
            row["active"] = .bool(isLikely(60))
        }
        if isWhole || isLikely(50) { row["name"] = value("n") ?? "dot" }
        if isWhole || isLikely(50) { row["rank"] = .int(Int64(number(8))) }
        if isLikely(50) { row["teamId"] = isLikely(20) ? .null : .int(Int64(number(4))) }
        if isLikely(30) { row["tag"] = isLikely(30) ? .null : "bob" }
        return row
    }

    private mutating func variables(of operation: StoredOperation) -> JSONObject? {
        var sent = JSONObject()
        for variable in operation.variables {
            if let value = value(variable.name) { sent[variable.name] = value }
        }
        return try? operation.coerce(sent)
    }

    // MARK: The run

    private static let firstRows: [(mutation: String, variables: String)] =
        (0..<4).map { ("AddTeam", #"{"id":\#($0),"n":"ann"}"#) }
        + (0..<12).map { ("AddPlayer", #"{"id":\#($0),"n":"bob","t":\#($0 % 4),"r":\#($0 % 8)}"#) }
        + (0..<12).map { ("AddGame", #"{"id":\#($0),"n":"cy","k":"OPEN","h":\#($0),"p":\#($0 % 8)}"#) }
        + (0..<12).map {
            ("AddNote", #"{"id":\#($0),"n":"cy","parent":\#($0 == 0 ? "null" : "\($0 / 2)"),"player":\#($0)}"#)
        }

    static func catalog() throws -> Catalog {
        try Catalog.compile(
            Project(
                serviceID: "oracle", schemaFiles: [SourceFile(path: "schema.gql", text: schema)],
                connectors: [
                    ConnectorSource(
                        id: "main", files: [SourceFile(path: "main.gql", text: queries + "\n" + mutations)])
                ], automaticRefresh: AutomaticRefresh(mode: .all)))
    }

    /// Foreign keys that follow a changed target, as a database may have them that was there before.
    static func followingKeys(_ schema: Schema) -> [String] {
        schema.tables.flatMap { table in
            table.references.compactMap { reference in
                guard let target = schema.tables.first(where: { $0.typeName == reference.targetType }) else {
                    return nil
                }
                func columns(_ fields: [String], _ table: Table) -> String {
                    fields.compactMap { table.column(ofField: $0)?.name }.map { "\"\($0)\"" }.joined(separator: ", ")
                }
                return """
                    ALTER TABLE "\(table.name)" DROP CONSTRAINT "\(reference.constraintName)",
                    ADD CONSTRAINT "\(reference.constraintName)"
                    FOREIGN KEY (\(columns(reference.localFields, table)))
                    REFERENCES "\(target.name)" (\(columns(reference.targetFields, target)))
                    ON DELETE \(reference.deleteRule.rawValue) ON UPDATE CASCADE
                    """
            }
        }
    }

    mutating func run(transitions: Int, on pool: PostgresPool) async throws -> Summary {
        let catalog = try Self.catalog()
        let operations = try #require(catalog.connectors["main"]).operations.values
            .sorted { $0.reference < $1.reference }
        let mutations = operations.filter { $0.kind == .mutation }
        let queries = QueryExecutor(pool: pool, clock: fixedClock)
        let executor = MutationExecutor(pool: pool, clock: fixedClock, makeUUID: { RandomUUID.next() })
        var live: [Live] = []
        var index = RuleIndex()
        for operation in operations where operation.kind == .query {
            for _ in 0..<(operation.variables.isEmpty ? 1 : 6) {
                guard let variables = variables(of: operation) else { continue }
                let query = LiveQuery(
                    operation: operation.reference, version: operation.version, variables: variables, auth: nil)
                let rules = try operation.queryRules(of: query)
                index.insert(Int32(live.count), rules: rules)
                live.append(Live(operation: operation, variables: variables, rules: rules))
            }
        }
        var summary = Summary(liveQueries: live.count)
        // Most mutations fail on an empty database, and nothing changes.
        for (name, sent) in Self.firstRows {
            let mutation = try #require(mutations.first { $0.reference.operation == name })
            _ = try await executor.run(
                mutation, variables: try mutation.coerced(sent), auth: nil,
                envelope: .init(
                    eventID: RandomUUID.next(), traceID: "t", shards: [], authReads: .nothing, loadedDeployment: 0))
        }
        let groups: [Group] = Dictionary(grouping: live.indices) { live[$0].operation.reference }.values
            .map { (live[$0[0]].operation, $0) }
        for (slot, digest, bound) in await Self.digests(groups, live, queries) {
            live[slot].digest = digest
            Self.bind(slot, bound, &index, &live)
        }
        while summary.transitions < transitions {
            let mutation = mutations[number(mutations.count)]
            guard let sent = variables(of: mutation) else { continue }
            let outcome = try? await executor.run(
                mutation, variables: sent, auth: nil,
                envelope: .init(
                    eventID: RandomUUID.next(), traceID: "t", shards: [ShardID(0)], authReads: .nothing,
                    recordedFields: catalog.recordedFields, loadedDeployment: 0))
            guard let row = outcome?.event else { continue }
            summary.transitions += 1
            var event = try MutationEvent(encoded: row.event)
            event.rows = event.rows.map(tamper)
            // Implicit refreshes are not what is tested.
            event.keysWritten = []
            let matched = Set(index.match(event).live.map(\.slot))
            let targets = Set(catalog.queriesRefreshed(by: mutation.reference))
            for (slot, digest, bound) in await Self.digests(groups, live, queries) {
                let query = live[slot]
                let name = query.operation.reference.operation
                let isMatched = matched.contains(Int32(slot)) && targets.contains(query.operation.reference)
                #expect(RuleIndex.concerns(event, rules: query.rules) == matched.contains(Int32(slot)))
                if isMatched {
                    summary.matched[name, default: 0] += 1
                    summary.matchedBy["\(name) after \(mutation.reference.operation)", default: 0] += 1
                }
                if isMatched { Self.bind(slot, bound, &index, &live) }
                guard digest != query.digest else { continue }
                live[slot].digest = digest
                summary.changed[name, default: 0] += 1
                summary.changedBy["\(name) after \(mutation.reference.operation)", default: 0] += 1
                if !isMatched {
                    summary.misses.append(
                        "\(mutation.reference.operation)\(JSONValue.object(sent).text) changed \(name)"
                            + "\(JSONValue.object(query.variables).text), told \(event.rows.map { "\($0.all)" } ?? "-")"
                    )
                }
            }
        }
        return summary
    }

    /// Takes over what a run read, as a worker does.
    private static func bind(_ slot: Int, _ bound: [RowsRead]??, _ index: inout RuleIndex, _ live: inout [Live]) {
        guard let bound else { return }
        _ = index.bind(Int32(slot), bound, countMax: 100)
        _ = live[slot].rules.automatic?.bind(bound, 100)
    }

    /// The results as they are now; the digest is nil for one that fails. The bound values are nil if those of before
    /// remain.
    private static func digests(
        _ groups: [Group], _ live: [Live], _ executor: QueryExecutor
    ) async -> [(slot: Int, digest: Digest?, bound: [RowsRead]??)] {
        var digests: [(slot: Int, digest: Digest?, bound: [RowsRead]??)] = []
        for (operation, slots) in groups {
            let outcomes = await executor.run(
                operation,
                items: slots.map { slot in
                    let awaitsBound = live[slot].rules.automatic?.awaitsRows == true
                    return .init(
                        variables: live[slot].variables, auth: nil, knownDigest: awaitsBound ? nil : live[slot].digest)
                })
            for (slot, outcome) in zip(slots, outcomes) {
                switch outcome {
                case .result(let result):
                    digests.append((slot, result.digest, .some(result.rowsRead)))
                case .unchanged: digests.append((slot, live[slot].digest, nil))
                case .failed, .cutShort: digests.append((slot, nil, .some(nil)))
                }
            }
        }
        return digests
    }
}

private enum RandomUUID {
    static func next() -> String {
        let digits = (0..<32).map { _ in String(Int.random(in: 0..<16), radix: 16) }.joined()
        var text = Array(digits)
        for position in [8, 13, 18, 23] { text.insert("-", at: position) }
        return String(text)
    }
}

extension Language {
    @Suite struct AutomaticRefreshes {
        private func run(
            seed: UInt64, transitions: Int, tamper: @escaping (RowChanges) -> RowChanges = { $0 }
        ) async throws -> AutomaticRefreshOracle.Summary {
            let schema = try AutomaticRefreshOracle.catalog().schema
            let statements = Migration.create(schema).map(\.sql) + AutomaticRefreshOracle.followingKeys(schema)
            return try await LanguageServer.withOwnDatabase(fill: { pool in
                try await pool.script(ServiceSchema.sql)
                try await pool.script(statements.joined(separator: ";\n"))
            }) { pool in
                var oracle = AutomaticRefreshOracle(seed: seed, tamper: tamper)
                return try await oracle.run(transitions: transitions, on: pool)
            }
        }

        @Test func everyResultThatChangesIsMatched() async throws {
            let environment = ProcessInfo.processInfo.environment
            let seed = environment["FRESHET_ORACLE_SEED"].flatMap(UInt64.init) ?? .random(in: 0..<1_000_000)
            let transitions = environment["FRESHET_ORACLE_TRANSITIONS"].flatMap(Int.init) ?? 400
            print("automatic refreshes: seed \(seed), \(transitions) transitions")
            let summary = try await run(seed: seed, transitions: transitions)
            #expect(summary.misses.isEmpty, "seed \(seed): \(summary.misses.prefix(3))")
            // A query that never changes proves nothing.
            let (changed, matched) = (summary.changed.values.reduce(0, +), summary.matched.values.reduce(0, +))
            #expect(changed > transitions && summary.changed.count >= 15, "\(summary.changed)")
            // Neither does one that every change matches.
            let all = transitions * summary.liveQueries
            #expect(matched * 5 < all * 4, "\(matched) of \(all)")
            for (matched, changed) in [
                (summary.matched, summary.changed), (summary.matchedBy, summary.changedBy),
            ] {
                for (name, count) in matched.sorted(by: { $0.key < $1.key }) {
                    print("  \(name): \(changed[name] ?? 0) of \(count) matches changed the result")
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
                            for field in ["teamId", "name", "kind", "id", "playerId", "active"] {
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
    }
}
