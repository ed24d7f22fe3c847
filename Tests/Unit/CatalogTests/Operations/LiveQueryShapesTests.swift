import CEL
import Catalog
import Operations
import JSON
import LiveModel
import Testing

/// The shapes of live queries that SQL Connect's documents promise: which writes refresh a lookup by key, timers,
/// triggers with and without conditions, and several rules together.
@Suite struct LiveQueryShapesTests {
    /// Parcels on their way, and the couriers who carry them.
    private static let schema = """
        type Parcel @table(key: "number") { number: String! depot: String state: String weight: Int note: String }
        type Courier @table(key: "uid") { uid: String! phone: String onDuty: Boolean }
        """

    private static let queries = """
        query ParcelByNumber($number: String!) @auth(level: PUBLIC) { parcel(number: $number) { number depot state } }
        query ParcelByKey($key: Parcel_Key!) { parcel(key: $key) { number } }
        query ParcelWeight($number: String!) @auth(level: PUBLIC) @refresh(every: { seconds: 45 }) {
          parcel(number: $number) { weight }
        }
        query OwnCourier @auth(level: USER) { courier(key: { uid_expr: "auth.uid" }) { uid phone onDuty } }
        query Heaviest @auth(level: PUBLIC) { parcels(orderBy: [{ weight: DESC }], limit: 5) { number } }
        """

    private func refreshed(by mutation: String, queries: String = queries) throws -> [String] {
        let catalog = try CatalogHarness.compile(queries + "\n" + mutation, schema: Self.schema)
        return catalog.queriesRefreshed(by: OperationReference(connector: "main", operation: "M")).map(\.operation)
    }

    // MARK: Without a rule

    @Test(arguments: [
        #"parcel_insert(data: { number: "a" })"#, #"parcel_insertMany(data: [{ number: "a" }, { number: "b" }])"#,
        #"parcel_upsert(data: { number: "a" depot: "north" })"#, #"parcel_upsertMany(data: [{ number: "a" }])"#,
        #"parcel_update(key: { number: "a" }, data: { state: "SENT" })"#, #"parcel_delete(key: { number: "a" })"#,
    ])
    func writesByKeyRefreshLookupsByKey(_ write: String) throws {
        #expect(
            try refreshed(by: "mutation M { \(write) }") == ["ParcelByKey", "ParcelByNumber", "ParcelWeight"])
    }

    @Test(arguments: [
        #"parcel_updateMany(where: { depot: { eq: "north" } }, data: { state: "SENT" })"#,
        #"parcel_deleteMany(where: { depot: { eq: "north" } })"#,
    ])
    func writesOfManyRefreshNothingByThemselves(_ write: String) throws {
        #expect(try refreshed(by: "mutation M { \(write) }") == [])
    }

    @Test func theKeyMayBeTheUidOfBoth() throws {
        let mutation = """
            mutation M($phone: String, $onDuty: Boolean) @auth(level: USER) {
              courier_upsert(data: { uid_expr: "auth.uid" phone: $phone onDuty: $onDuty }) { uid phone onDuty }
            }
            """
        #expect(try refreshed(by: mutation) == ["OwnCourier"])
    }

    // MARK: With rules

    /// A list with these directives, and two mutations that it may name.
    private func list(_ directives: String) throws -> (rules: RefreshRules, refreshed: (String) -> [String]) {
        let catalog = try CatalogHarness.compile(
            """
            query List($depot: String, $skip: Int) @auth(level: PUBLIC, insecureReason: "Parcels of a depot hang out.")
              \(directives) {
              parcels(where: { depot: { eq: $depot } }, limit: 25, offset: $skip) { number depot state note }
            }
            mutation Move($number: String!, $depot: String!, $note: String) {
              parcel_update(key: { number: $number }, data: { depot: $depot note: $note })
            }
            mutation Clear($depot: String!) { parcel_deleteMany(where: { depot: { eq: $depot } }) }
            """, schema: Self.schema)
        #expect(catalog.warnings.isEmpty)
        let query = OperationReference(connector: "main", operation: "List")
        return (
            try #require(catalog.operation(query)).refresh,
            { catalog.queriesRefreshed(by: OperationReference(connector: "main", operation: $0)).map(\.operation) }
        )
    }

    @Test func onlyTheNamedMutationRefreshes() throws {
        let (rules, refreshed) = try list(#"@refresh(onMutationExecuted: { operation: "Move" })"#)
        #expect(rules.everyMs == nil && rules.triggers.count == 1 && rules.triggers[0].condition == nil)
        #expect(refreshed("Move") == ["List"] && refreshed("Clear") == [])
    }

    @Test func aTimerAndTwoMutations() throws {
        let (rules, refreshed) = try list(
            """
            @refresh(every: { seconds: 45 }) @refresh(onMutationExecuted: { operation: "Move" })
            @refresh(onMutationExecuted: { operation: "Clear" })
            """)
        #expect(rules.everyMs == 45_000 && rules.triggers.map(\.mutation.operation) == ["Move", "Clear"])
        #expect(refreshed("Move") == ["List"] && refreshed("Clear") == ["List"])
    }

    /// A condition, what it sees of both sides, and whether it refreshes.
    struct Case: Sendable, CustomTestStringConvertible {
        let condition: String
        var query: JSONObject = [:]
        var queryAuth: JSONValue = .null
        var mutation: JSONObject = [:]
        var mutationAuth: JSONValue = .null
        let holds: Bool

        var testDescription: String { "\(condition) \(holds)" }
    }

    private static let sameDepot = "request.variables.depot == mutation.variables.depot"
    private static let sameUser = "request.auth.uid == mutation.auth.uid"
    private static let sent = sameUser + " && mutation.variables.note == 'SENT'"
    private static let loud = "mutation.variables.note == 'loud'"
    private static let team = "request.auth.token.team == mutation.auth.token.team"

    private static func auth(_ uid: String, team: String = "red") -> JSONValue {
        ["uid": .string(uid), "token": ["team": .string(team)]]
    }

    @Test(arguments: [
        Case(condition: sameDepot, query: ["depot": "north"], mutation: ["depot": "north"], holds: true),
        Case(condition: sameDepot, query: ["depot": "north"], mutation: ["depot": "south"], holds: false),
        Case(condition: sameUser, queryAuth: auth("ann"), mutationAuth: auth("ann"), holds: true),
        Case(condition: sameUser, queryAuth: auth("ann"), mutationAuth: auth("bob"), holds: false),
        Case(
            condition: sent, queryAuth: auth("ann"), mutation: ["note": "SENT"], mutationAuth: auth("ann"), holds: true
        ),
        Case(
            condition: sent, queryAuth: auth("ann"), mutation: ["note": "LATE"], mutationAuth: auth("ann"), holds: false
        ),
        Case(
            condition: sent, queryAuth: auth("ann"), mutation: ["note": "SENT"], mutationAuth: auth("bob"), holds: false
        ),
        Case(condition: loud, mutation: ["note": "loud"], holds: true),
        Case(condition: loud, mutation: ["note": "low"], holds: false),
        Case(condition: team, queryAuth: auth("ann"), mutationAuth: auth("bob"), holds: true),
        Case(condition: team, queryAuth: auth("ann"), mutationAuth: auth("ann", team: "blue"), holds: false),
    ])
    func conditionsDecideWhichMutationsRefresh(_ row: Case) throws {
        let (rules, refreshed) = try list(
            "@refresh(onMutationExecuted: { operation: \"Move\", condition: \"\(row.condition)\" })")
        #expect(refreshed("Move") == ["List"])
        let program = try #require(rules.triggers.first?.condition)
        let found = try program.evaluate(
            SlotActivation([
                Value(json: ["variables": .object(row.query), "auth": row.queryAuth]),
                Value(json: ["variables": .object(row.mutation), "auth": row.mutationAuth]),
            ]))
        guard case .bool(row.holds) = found else {
            Issue.record("\(found)")
            return
        }
    }
}
