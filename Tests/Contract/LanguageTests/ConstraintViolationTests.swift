import Catalog
import Execution
import Foundation
import JSON
import LiveModel
import Operations
import Postgres
import SchemaMigration
import SchemaModel
import Testing

extension Language {
    /// Errors of violated constraints tell everything to developers and administrators, to others only the fields that
    /// the mutation writes from its variables.
    @Suite struct ConstraintViolations {
        private static let sdl = """
            type Club @table { name: String! @unique motto: String }
            type Member @table(key: ["club", "number"]) @unique(fields: ["club", "nickname"]) {
              club: Club!
              number: Int!
              nickname: String @col(name: "called")
              age: Int
            }
            type Locker @table { member: Member @ref(constraintName: "locker_of_member") code: String! }
            """
        private static let club = "11111111-1111-4111-8111-111111111111"
        /// A constraint of its own, and a unique index that the schema does not know by that name.
        private static let rows = """
            ALTER TABLE member ADD CONSTRAINT adult CHECK (age >= 18);
            CREATE UNIQUE INDEX other_name ON club (motto);
            INSERT INTO club (id, name, motto) VALUES ('\(club)', 'Chess', 'slow');
            INSERT INTO member (club_id, number, called) VALUES ('\(club)', 1, 'Ann');
            """

        struct Row: Sendable, CustomTestStringConvertible {
            let mutation: String
            /// The text for developers and administrators that follows the general sentence.
            let everything: String
            /// The fields that others learn.
            let own: [String]
            var testDescription: String { mutation }
        }

        static let violations = [
            Row(
                mutation: #"mutation M { club_insert(data: {name: "Chess"}) }"#,
                everything: " (Club: name; constraint club_name_uidx)", own: []),
            Row(
                mutation: #"mutation M($n: String! = "Chess") { club_insert(data: {name: $n}) }"#,
                everything: " (Club: name; constraint club_name_uidx)", own: ["name"]),
            Row(
                mutation: #"mutation M($n: String! = "Ch") { club_insert(data: {name_expr: "vars.n + 'ess'"}) }"#,
                everything: " (Club: name; constraint club_name_uidx)", own: ["name"]),
            Row(
                mutation: #"mutation M($d: Club_Data!) { club_insert(data: $d) }"#,
                everything: " (Club: name; constraint club_name_uidx)", own: ["name"]),
            Row(
                mutation: #"mutation M($m: String = "slow") { club_insert(data: {name: "Go", motto: $m}) }"#,
                everything: " (Club: motto; constraint other_name)", own: ["motto"]),
            Row(
                mutation: #"mutation M($i: UUID! = "\#(club)") { club_insert(data: {id: $i, name: "Go"}) }"#,
                everything: " (Club: id; constraint club_pkey)", own: ["id"]),
            Row(
                mutation: #"mutation M { club_insert(data: {motto: "fast"}) }"#, everything: " (Club: name)", own: []),
            Row(
                mutation: #"mutation M($n: String) { club_insert(data: {name: $n}) }"#, everything: " (Club: name)",
                own: ["name"]),
            Row(
                mutation: """
                    mutation M($n: String! = "Ann") {
                      member_insert(data: {club: {id: "\(club)"}, number: 2, nickname: $n})
                    }
                    """,
                everything: " (Member: clubId, nickname; constraint member_club_id_called_uidx)",
                own: ["nickname"]),
            Row(
                mutation: #"mutation M { member_update(key: {clubId: "\#(club)", number: 1}, data: {age: 3}) }"#,
                everything: " (Member; constraint adult)", own: []),
            Row(
                mutation: """
                    mutation M($c: UUID! = "\(club)", $n: Int! = 9) {
                      locker_insert(data: {code: "x", member: {clubId: $c, number: $n}})
                    }
                    """,
                everything: " (Locker: memberClubId, memberNumber; constraint locker_of_member)",
                own: ["memberClubId", "memberNumber"]),
            Row(
                mutation: """
                    mutation M($n: String! = "Chess") @transaction {
                      one: club_insert(data: {name: "Go"})
                      two: club_insert(data: {name: $n})
                      three: club_insert(data: {name: "Bridge"})
                    }
                    """, everything: " (Club: name; constraint club_name_uidx)", own: ["name"]),
            Row(
                mutation: """
                    mutation M($n: String! = "Chess") {
                      query { club(id: "\(club)") { name @check(expr: "this == 'Chess'", message: "no") } }
                      club_insert(data: {name: $n})
                    }
                    """, everything: " (Club: name; constraint club_name_uidx)", own: ["name"]),
        ]

        @Test(arguments: violations) func violationsNameTheConstraint(_ row: Row) async throws {
            let catalog = try Catalog.compile(
                Project(
                    serviceID: "test", schemaFiles: [SourceFile(path: "schema.gql", text: Self.sdl)],
                    connectors: [
                        ConnectorSource(id: "main", files: [SourceFile(path: "main.gql", text: row.mutation)])
                    ]))
            let stored = try #require(catalog.operation(OperationReference(connector: "main", operation: "M")))
            try await LanguageServer.withOwnDatabase(fill: { pool in
                try await pool.script(ServiceSchema.sql)
                try await pool.script(Migration.create(catalog.schema).map(\.sql).joined(separator: ";\n"))
                try await pool.script(Self.rows)
            }) { pool in
                let isVariable = stored.variables.contains { $0.name == "d" }
                let outcome = try await MutationExecutor(
                    pool: pool, clock: fixedClock, makeUUID: { UUID().uuidString.lowercased() }
                ).run(
                    stored, variables: try stored.coerced(isVariable ? #"{"d": {"name": "Chess"}}"# : "{}"), auth: nil,
                    envelope: .init(
                        eventID: SchemaRow.freshUUID, traceID: "t", shards: [], authReads: .nothing,
                        loadedDeployment: 0))
                let error = try #require(outcome.failure ?? outcome.errors.first)
                #expect(error.code == .constraintViolation)
                // Undisclosed, it names nothing.
                #expect(error.graphQLError["extensions"] == ["code": "CONSTRAINT_VIOLATION"])
                #expect(!error.message.contains("("))

                let open = error.disclosingViolation(everything: true)
                #expect(open.message == error.message + row.everything)
                #expect(
                    open.graphQLError["extensions"]?["table"]?.stringValue.map { row.everything.contains($0) } == true)

                let closed = error.disclosingViolation(everything: false)
                let fields = row.own.isEmpty ? "" : " (\(row.own.joined(separator: ", ")))"
                #expect(closed.message == error.message + fields)
                var extensions: JSONObject = ["code": "CONSTRAINT_VIOLATION"]
                if !row.own.isEmpty { extensions["fields"] = .array(row.own.map(JSONValue.string)) }
                #expect(closed.graphQLError["extensions"] == .object(extensions))
                for others in outcome.errors where others != error { #expect(others.violation == nil) }
            }
        }
    }
}
