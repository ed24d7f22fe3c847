import Catalog
import ChangeCapture
import Execution
import Foundation
import JSON
import LiveModel
import Migrations
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
          id: Int! name: String! team: Team rank: Int! active: Boolean! tag: String seen: Timestamp level: Int64
        }
        type Game @table(key: "id") { id: Int! title: String! kind: Kind! host: Player! day: Date uid: UUID }
        type Entry @table(key: ["game", "player"]) { game: Game! player: Player! points: Int! }
        type Remark @table(key: "id") { id: Int! entry: Entry! stars: Int! }
        type Note @table(key: "id") { id: Int! text: String! parent: Note player: Player }
        type Score
          @view(sql: "SELECT player_id, count(*) AS games, sum(points) AS points FROM entry GROUP BY player_id") {
          player: Player games: Int64 points: Int64
        }
        type Standing @view(name: "standing") { playerId: Int name: String games: Int64 }
        """

    /// Views of the database, one over the other.
    static let views =
        """
        CREATE VIEW appearances AS SELECT player_id, count(*) AS games FROM entry WHERE points > 2 GROUP BY player_id;
        CREATE VIEW standing AS SELECT p.id AS player_id, p.name, coalesce(a.games, 0) AS games
          FROM player p LEFT JOIN appearances a ON a.player_id = p.id WHERE p.active
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
        query TeamsAmong($ts: [Int!]) @auth(level: PUBLIC) {
          teams(orderBy: [{id: ASC}]) {
            id players_on_team(where: {teamId: {in: $ts}}, orderBy: [{rank: ASC}], limit: 2) { name }
          }
        }
        query Redacted @auth(level: PUBLIC) {
          player(id: 3) @redact { rank }
          teams(orderBy: [{id: ASC}], limit: 3) {
            id players_on_team(where: {active: {eq: true}}, orderBy: [{rank: ASC}], limit: 2) { name }
          }
        }
        query Remarked($k: Kind!) @auth(level: PUBLIC) {
          games(where: {kind: {eq: $k}}, orderBy: [{id: ASC}], limit: 3) {
            entries_on_game(orderBy: [{points: DESC}], limit: 2) {
              points remarks_on_entry(orderBy: [{stars: DESC}], limit: 1) { stars }
            }
          }
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
        query Sorted($order: [Entry_Order!]) @auth(level: PUBLIC) {
          entries(where: {points: {gt: 1}}, orderBy: $order, limit: 3) { points }
        }
        query FirstOf($first: Player_FirstRow!) @auth(level: PUBLIC) { player(first: $first) { name } }
        query Top($l: Int, $o: Int) @auth(level: PUBLIC) {
          players(orderBy: [{rank: DESC}, {active: ASC}], limit: $l, offset: $o) { name active }
        }
        query Latest($d: OrderDirection, $r: Int!) @auth(level: PUBLIC) {
          players(where: {rank: {le: $r}}, orderBy: [{seen: $d}], limit: 3) { id seen }
        }
        query Levels($a: Boolean!) @auth(level: PUBLIC) {
          players(where: {active: {eq: $a}}, orderBy: [{level: DESC}, {name: ASC}], limit: 2) { level name }
        }
        query Days($k: Kind!) @auth(level: PUBLIC) {
          games(where: {kind: {eq: $k}}, orderBy: [{day: ASC}, {uid: DESC}], limit: 3) {
            title entries_on_game(orderBy: [{points: DESC}], limit: 1) { points }
          }
        }
        query OfTeams($ts: [Int!], $r: Int!) @auth(level: PUBLIC) {
          players(where: {teamId: {in: $ts}, rank: {ge: $r}}, orderBy: [{id: ASC}]) { id rank }
        }
        query Between($at: Timestamp!, $until: Timestamp!) @auth(level: PUBLIC) {
          players(where: {seen: {ge: $at, lt: $until}}, orderBy: [{id: DESC}]) { id }
        }
        query OnDay($day: Date, $u: UUID) @auth(level: PUBLIC) {
          games(where: {day: {le: $day}, uid: {ne: $u}, hostId: {in: [1, 2, 5]}}, orderBy: [{id: ASC}]) { title }
        }
        query Counted @auth(level: PUBLIC) { _select(sql: "SELECT count(*) AS n FROM entry", params: []) }
        query Best($t: Int) @auth(level: PUBLIC) {
          _selectFirst(
            sql: "SELECT max(rank) AS best, count(*) FILTER (WHERE active) AS n FROM player WHERE team_id = $1"
            params: [$t]
          )
        }
        query Whole($id: Int) @auth(level: PUBLIC) {
          _select(
            sql: "SELECT n AS note, p.name FROM note n LEFT JOIN player p ON p.id = n.player_id \
              WHERE n.id >= $1 ORDER BY n.id"
            params: [$id])
        }
        query Scores($p: Int64!) @auth(level: PUBLIC) {
          scores(where: {points: {gt: $p}}, orderBy: [{playerId: ASC}]) { games points player { name } }
        }
        query Standings @auth(level: PUBLIC) { standings(orderBy: [{games: DESC}], limit: 4) { name games } }
        """

    /// The queries that read by SQL, with the mutations after which they cannot have another result.
    static let ofSQL: [String: Set<String>] = [
        "Counted": ["AddTeam", "AddNote", "DropNote", "Raise", "Tag", "SetKind", "Native", "NativeTurn", "NativePut"],
        "Best": ["AddNote", "AddTeam", "DropNote", "SetKind", "Score", "AddGame", "Tag"],
        "Whole": ["AddTeam", "SetKind", "Score", "AddGame"],
        "Scores": ["AddNote", "DropNote", "Raise", "Tag", "SetKind", "AddTeam", "Native", "NativeTurn"],
        "Standings": ["AddNote", "DropNote", "Tag", "Raise", "AddTeam", "SetKind", "Native", "NativeTurn"],
    ]

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
        mutation See($id: Int!, $at: Timestamp) @auth(level: PUBLIC) { player_update(id: $id, data: {seen: $at}) }
        mutation SeeNow($id: Int!) @auth(level: PUBLIC) {
          player_update(id: $id, data: {seen_expr: "request.time", level_update: {inc: 1}})
        }
        mutation SetDay($id: Int!, $day: Date, $u: UUID) @auth(level: PUBLIC) {
          game_update(id: $id, data: {day: $day, uid: $u})
        }
        mutation AddSeen($id: Int!, $n: String!, $r: Int!, $at: Timestamp, $a: Boolean!) @auth(level: PUBLIC) {
          player_insert(data: {id: $id, name: $n, rank: $r, active: $a, seen: $at, level: 3})
        }
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
        mutation Remark($id: Int!, $g: Int!, $h: Int!, $p: Int!) @auth(level: PUBLIC) {
          remark_upsert(data: {id: $id, entryGameId: $g, entryPlayerId: $h, stars: $p})
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
        mutation NativePut($id: Int!, $n: String!, $r: Int!) @auth(level: PUBLIC) {
          _executeReturning(
            sql: "INSERT INTO player (id, name, rank, active) VALUES ($1, $2, $3, true) \
              ON CONFLICT (id) DO UPDATE SET rank = excluded.rank RETURNING id"
            params: [$id, $n, $r])
        }
        mutation NativeTurn($t: Int!) @auth(level: PUBLIC) {
          _execute(sql: "UPDATE team SET id = 3 - id WHERE id = $1", params: [$t])
        }
        mutation NativeDrop($t: Int!) @auth(level: PUBLIC) {
          _execute(
            sql: "WITH gone AS (DELETE FROM game WHERE id = $1 + 5) DELETE FROM team WHERE id = $1", params: [$t])
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
    private let seed: UInt64
    /// The source of row changes: events of mutations, the database's log, or both together.
    let source: AutomaticRefresh.Source
    /// Changes what events tell, to see that the oracle notices it.
    let tamper: (RowChanges) -> RowChanges
    /// Changes what runs tell.
    let tamperRead: ([RowsRead]) -> [RowsRead]

    init(
        seed: UInt64, source: AutomaticRefresh.Source = .mutations,
        tamper: @escaping (RowChanges) -> RowChanges = { $0 },
        tamperRead: @escaping ([RowsRead]) -> [RowsRead] = { $0 }
    ) {
        random = SeededRandom(seed: seed)
        (self.seed, self.source, self.tamper, self.tamperRead) = (seed, source, tamper, tamperRead)
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
        case "ts":
            if isLikely(10) { return isLikely(50) ? nil : .array([]) }
            return .array((0..<number(3)).map { _ in .int(Int64(number(4))) })
        case "l": return isLikely(20) ? .null : .int(Int64(number(6)))
        case "o": return isLikely(60) ? nil : .int(Int64(number(3)))
        case "d": return isLikely(20) ? nil : .string(isLikely(50) ? "ASC" : "DESC")
        case "at", "until":
            return isLikely(10) ? .null : .string("202\(number(4))-01-0\(1 + number(3))T00:00:00.\(number(3))Z")
        case "day": return isLikely(10) ? .null : .string("2026-0\(1 + number(9))-11")
        case "u": return isLikely(10) ? .null : .string("0000000\(number(8))-0000-4000-8000-00000000000\(number(8))")
        case "k": return .string(isLikely(50) ? "OPEN" : "CLOSED")
        case "a": return .bool(isLikely(50))
        case "data": return .object(row(isWhole: false))
        case "rows": return .array((0...number(3)).map { _ in .object(row(isWhole: true)) })
        case "filter": return filter()
        case "order":
            return [
                nil, [], [["points": "DESC"]], [["player": ["team": ["name": "ASC"]]], ["points": "ASC"]],
                [["game": ["title": "DESC"]]],
            ][number(5)]
        case "first":
            return [
                ["orderBy": [["level": "ASC"]]], ["where": filter(), "orderBy": [["rank": "DESC"]]],
                ["where": filter(), "orderBy": [["team": ["name": "DESC"]], ["id": "ASC"]]],
            ][number(3)]
        default: return nil
        }
    }

    private mutating func filter() -> JSONValue {
        [
            ["teamId": ["eq": .int(Int64(number(4)))]], ["entries_on_player": ["exist": ["points": ["gt": 3]]]],
            ["_or": [["team": ["name": ["eq": "ann"]]], ["rank": ["gt": 6]]]],
            ["_not": ["games_via_Entry": ["exist": ["kind": ["eq": "OPEN"]]]]],
            ["notes_on_player": ["count": ["ge": 1], "exist": ["parent": ["text": ["ne": "bob"]]]]], [:],
        ][number(6)]
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
        if isLikely(30) { row["seen"] = value("at") }
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

    static func catalog(_ source: AutomaticRefresh.Source = .mutations) throws -> Catalog {
        try Catalog.compile(project(source))
    }

    private static func project(_ source: AutomaticRefresh.Source) -> Project {
        Project(
            serviceID: "oracle", schemaFiles: [SourceFile(path: "schema.gql", text: schema)],
            connectors: [
                ConnectorSource(
                    id: "main", files: [SourceFile(path: "main.gql", text: queries + "\n" + mutations)])
            ], automaticRefresh: AutomaticRefresh(mode: .all, source: source))
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

    /// Makes a statement of another program, or several for one transaction.
    private mutating func statements() -> [String] {
        func one(_ oracle: inout Self) -> String {
            let (id, other) = (oracle.number(12), oracle.number(12))
            let (team, rank) = (oracle.number(4), oracle.number(8))
            return switch oracle.number(14) {
            case 0: "UPDATE player SET team_id = \(team) WHERE id = \(id)"
            case 1: "UPDATE player SET rank = rank + 1 WHERE team_id = \(team)"
            case 2: "UPDATE player SET id = \(other) WHERE id = \(id)"
            case 3: "UPDATE team SET id = 3 - id WHERE id = \(team)"
            case 4: "DELETE FROM team WHERE id = \(team)"
            case 5: "DELETE FROM player WHERE rank = \(rank)"
            case 6: "INSERT INTO player (id, name, rank, active) VALUES (\(id), 'bob', \(rank), true)"
            case 7: "UPDATE player SET seen = now() - interval '\(rank) days', level = \(team) WHERE id = \(id)"
            case 8: "UPDATE game SET day = '2026-0\(1 + rank)-01', host_id = \(other) WHERE id = \(id)"
            case 9: "TRUNCATE entry"
            case 10: "INSERT INTO entry (game_id, player_id, points) SELECT g.id, p.id, 5 FROM game g, player p LIMIT 9"
            case 11: "UPDATE note SET parent_id = \(other), text = 'dot' WHERE id = \(id)"
            case 12: "DELETE FROM game WHERE id = \(id)"
            default: "INSERT INTO team (id, name) VALUES (\(team), 'ann') ON CONFLICT DO NOTHING"
            }
        }
        return (0...(isLikely(80) ? 0 : 2)).map { _ in one(&self) }
    }

    /// Makes one transition.
    /// - Returns: what was done, the event that tells it if a mutation did it, and the queries that the event goes to,
    ///   nil for all; nil if nothing was committed.
    private mutating func transition(
        _ catalog: Catalog, _ mutations: [StoredOperation], _ executor: MutationExecutor, _ pool: PostgresPool
    ) async throws -> (name: String, detail: String, event: MutationEvent?, targets: Set<OperationReference>?)? {
        if source != .mutations, isLikely(40) {
            let statements = statements().joined(separator: "; ")
            guard (try? await pool.script("BEGIN; \(statements); COMMIT")) != nil else {
                try? await pool.script("ROLLBACK")
                return nil
            }
            return ("psql", statements, nil, nil)
        }
        let mutation = mutations[number(mutations.count)]
        guard let sent = variables(of: mutation) else { return nil }
        let outcome = try? await executor.run(
            mutation, variables: sent, auth: nil,
            envelope: .init(
                eventID: RandomUUID.next(), traceID: "t", shards: [ShardID(0)], authReads: .nothing,
                recordedFields: catalog.recordedFields, loadedDeployment: 0))
        guard let row = outcome?.event else { return nil }
        var event = try MutationEvent(encoded: row.event)
        event.rows = event.rows.map(tamper)
        // Implicit refreshes are not what is tested.
        event.keysWritten = []
        return (
            mutation.reference.operation, JSONValue.object(sent).text, event,
            Set(catalog.queriesRefreshed(by: mutation.reference))
        )
    }

    mutating func run(transitions: Int, on pool: PostgresPool) async throws -> Summary {
        let inspected = try await InspectedProject(
            Self.project(source), try Self.catalog(source), options: CatalogOptions(), pool)
        #expect(inspected.refusals.isEmpty && inspected.writeRefusals.isEmpty)
        let catalog = inspected.catalog
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
        var log: LogReader?
        var tables = CapturedTables(namespace: "public", tables: [], recordedFields: [:])
        if let captured = catalog.captured {
            tables = CapturedTables(
                namespace: "public", tables: captured.tables, recordedFields: captured.recordedFields,
                derived: ["player"])
            log = try await LogReader(pool, name: "oracle_\(seed)_\(source.rawValue)", tables)
        }
        let groups: [Group] = Dictionary(grouping: live.indices) { live[$0].operation.reference }.values
            .map { (live[$0[0]].operation, $0) }
        for (slot, digest, read) in await Self.digests(groups, live, queries) {
            live[slot].digest = digest
            bind(slot, read, &index, &live)
        }
        while summary.transitions < transitions {
            guard let done = try await transition(catalog, mutations, executor, pool) else { continue }
            summary.transitions += 1
            var events: [(event: MutationEvent, targets: Set<OperationReference>?)] = []
            if let event = done.event, source != .wal { events.append((event, done.targets)) }
            if let read = try await log?.changes() {
                var rows = tamper(read)
                if source == .both, let told = done.event?.rows {
                    rows = CoveredChanges.uncovered(rows, by: told, tables)
                }
                events.append((MutationEvent(captured: rows, id: "log", committedAtMs: 0), nil))
            }
            var matched: Set<Int32> = []
            for (event, targets) in events {
                let found = Set(index.match(event).live.map(\.slot))
                for (slot, query) in live.enumerated() {
                    #expect(RuleIndex.concerns(event, rules: query.rules) == found.contains(Int32(slot)))
                }
                matched.formUnion(
                    found.filter { targets?.contains(live[Int($0)].operation.reference) ?? true })
            }
            for (slot, digest, read) in await Self.digests(groups, live, queries) {
                let query = live[slot]
                let name = query.operation.reference.operation
                let isMatched = matched.contains(Int32(slot))
                if isMatched {
                    summary.matched[name, default: 0] += 1
                    summary.matchedBy["\(name) after \(done.name)", default: 0] += 1
                    bind(slot, read, &index, &live)
                }
                guard digest != query.digest else { continue }
                live[slot].digest = digest
                summary.changed[name, default: 0] += 1
                summary.changedBy["\(name) after \(done.name)", default: 0] += 1
                if !isMatched {
                    summary.misses.append(
                        "\(done.name) \(done.detail) changed \(name)\(JSONValue.object(query.variables).text), told "
                            + events.map { "\($0.event.rows?.all.map(\.text).description ?? "-")" }.joined()
                            + " sites \(query.rules.automatic?.sites.map { "\($0.rows)" } ?? [])")
                }
            }
        }
        try await log?.end()
        return summary
    }

    /// Takes over what a run read, as a worker does.
    private func bind(_ slot: Int, _ read: [RowsRead]??, _ index: inout RuleIndex, _ live: inout [Live]) {
        guard let read else { return }
        let told = read.map(tamperRead)
        _ = index.bind(Int32(slot), told, countMax: 100)
        _ = live[slot].rules.automatic?.bind(told, 100)
    }

    /// The results as they are now; the digest is nil for one that fails. The rows read are nil if those of before
    /// remain.
    private static func digests(
        _ groups: [Group], _ live: [Live], _ executor: QueryExecutor
    ) async -> [(slot: Int, digest: Digest?, read: [RowsRead]??)] {
        var digests: [(slot: Int, digest: Digest?, read: [RowsRead]??)] = []
        for (operation, slots) in groups {
            let outcomes = await executor.run(
                operation,
                items: slots.map { slot in
                    let awaitsRows = live[slot].rules.automatic?.awaitsRows == true
                    return .init(
                        variables: live[slot].variables, auth: nil, knownDigest: awaitsRows ? nil : live[slot].digest)
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
