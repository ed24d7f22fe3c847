import Catalog
import JSON
import LibrarySchema
import LiveModel
import Operations
import QuerySQL
import Refresh
import SchemaModel
import Testing

/// The places where stored queries read rows, for automatic refreshes.
@Suite struct AutomaticSitesTests {
    private static let schema =
        """
        enum Kind { OPEN CLOSED }
        type Lot @table { title: String! kind: Kind! size: Float! code: String! @col(dataType: "citext") owner: Person }
        type Person @table(key: "uid") { uid: String! name: String! }
        type Bid @table { lot: Lot! amount: Int! by: Person! }
        """

    private static func project(
        _ operations: String, _ mode: AutomaticRefresh = .init(mode: .all), schema: String = schema
    ) -> Project {
        Project(
            serviceID: "test", schemaFiles: [SourceFile(path: "schema.gql", text: schema)],
            connectors: [ConnectorSource(id: "main", files: [SourceFile(path: "main.gql", text: operations)])],
            automaticRefresh: mode)
    }

    private static func catalog(_ operations: String, _ mode: AutomaticRefresh = .init(mode: .all)) throws -> Catalog {
        try Catalog.compile(project(operations, mode))
    }

    private static func operation(of project: Project) throws -> StoredOperation {
        try #require(try Catalog.compile(project).connectors["main"]?.operations.values.first)
    }

    private static func operation(_ text: String, _ mode: AutomaticRefresh = .init(mode: .all)) throws
        -> StoredOperation
    {
        try operation(of: project(text, mode))
    }

    /// The sites of a query, as `table: guards; fields`.
    private static func sites(_ query: String) throws -> [String] {
        let sites = try #require(try operation("query Q\(query)").automaticSites)
        if sites.mayReadAnything { return ["anything"] }
        return sites.sites.map { site in
            "\(site.form.table): \(site.guardTexts.joined(separator: ", "));"
                + " \(site.form.fields.map { $0.sorted().joined(separator: " ") } ?? "all")"
        }.sorted()
    }

    @Test(arguments: [
        ("($id: UUID!) { lot(id: $id) { title } }", ["lot: id = $id; id title"]),
        (
            "($id: UUID!) { bids(where: {lot: {id: {eq: $id}}}, orderBy: [{amount: DESC}], limit: 3) { amount } }",
            ["bid: lotId = $id; amount id lotId", "lot: id = $id; id"]
        ),
        (
            "($id: UUID!) { lot(id: $id) { title bids_on_lot { amount by { name } } } }",
            ["bid: lotId = $id; all", "lot: id = $id; id title", "person: uid of lot.bids_on_lot.byUid; name uid"]
        ),
        // Rows below others are those of the rows above.
        (
            "{ lots(orderBy: [{id: ASC}]) { bids_on_lot(orderBy: [{id: ASC}]) { amount } } }",
            ["bid: lotId of lots.id; amount id lotId", "lot: ; id"]
        ),
        (
            """
            { lots(orderBy: [{id: ASC}], where: {bids_on_lot: {exist: {amount: {gt: 1}}}}) {
              bids_on_lot(orderBy: [{id: ASC}]) { amount }
            } }
            """, ["bid: amount > 1; amount id lotId", "bid: lotId of lots.id; amount id lotId", "lot: ; id"]
        ),
        (
            "{ lots(distinct: true, orderBy: [{title: ASC}]) { title bids_on_lot(orderBy: [{id: ASC}]) { amount } } }",
            ["bid: ; amount id lotId", "lot: ; id title"]
        ),
        // The order in which rows are stored counts.
        ("($k: Kind) { lots(where: {kind: {eq: $k}}) { id } }", ["lot: kind = $k; all"]),
        ("{ lots(where: {kind: {eq: OPEN}}, orderBy: [{id: ASC}]) { id } }", [#"lot: kind = "OPEN"; id kind"#]),
        (
            #"{ lots(where: {owner: {uid: {eq_expr: "auth.uid"}}}, orderBy: [{id: ASC}]) { id } }"#,
            ["lot: ownerUid = auth.uid; id ownerUid", "person: uid = auth.uid; uid"]
        ),
        // Values that may be equal for Postgres although their texts differ, and other tests, guard nothing.
        (
            """
            ($s: Float!, $c: String!, $t: String!) {
              lots(where: {size: {eq: $s}, code: {eq: $c}, title: {contains: $t}}, orderBy: [{id: ASC}]) { id }
            }
            """, ["lot: ; code id size title"]
        ),
        (
            "($k: Kind!) { lots(where: {_or: [{kind: {eq: $k}}, {title: {eq: \"a\"}}]}, orderBy: [{id: ASC}]) { id } }",
            [#"lot: (kind = $k or title = "a"); id kind title"#]
        ),
        // Comparisons of a choice are all known, or the choice tells nothing.
        (
            "{ lots(where: {_or: [{kind: {eq: OPEN}}, {title: {contains: \"a\"}}]}, orderBy: [{id: ASC}]) { id } }",
            ["lot: ; id kind title"]
        ),
        (
            "($p: Int) { bids(where: {amount: {gt: $p, ne: 7}}) { _count } }",
            ["bid: amount > $p, amount <> 7; amount id"]
        ),
        // A place that selects no others than another one needs no site of its own, unless that one heeds only the
        // rows that it shows.
        (
            "($k: Kind!) { a: lots(where: {kind: {eq: $k}}, limit: 1) { id } b: lots { _count size_max } }",
            ["lot: ; id kind size"]
        ),
        (
            "($k: Kind!) { a: lots(where: {kind: {eq: $k}}, limit: 1) { id } b: lots(limit: 2) { title } }",
            ["lot: ; id kind title", "lot: kind = $k; id kind title"]
        ),
        // A filter from a variable may name the rows of every table that relations lead to.
        (
            "($f: Lot_Filter) { lots(where: $f, orderBy: [{id: ASC}]) { id } }",
            [
                "bid: $f names it; amount byUid id lotId", "lot: $f names it; code id kind ownerUid size title",
                "lot: matches $f; code id kind ownerUid size title", "person: $f names it; name uid",
            ]
        ),
        (
            "($o: [Bid_Order!]) { bids(orderBy: $o) { lot { id } } }",
            [
                "bid: ; amount byUid id lotId", "lot: $o names it; code id kind ownerUid size title",
                "lot: id of bids.lotId; id", "person: $o names it; name uid",
            ]
        ),
        (#"{ _select(sql: "SELECT 1", params: []) }"#, ["anything"]),
    ])
    func aQueryHasASiteForEachPlaceWhereItReads(query: String, expected: [String]) throws {
        let isVariable = query.hasPrefix("(")
        let head = isVariable ? String(query.prefix { $0 != "{" }) : ""
        let body = String(query.dropFirst(head.count))
        #expect(try Self.sites("\(head)@auth(level: PUBLIC) \(body)") == expected)
    }

    @Test(
        arguments: [
            (nil, ["lot"]), ([:], ["lot"]), (["kind": ["eq": "OPEN"]], ["lot"]),
            (["owner": ["name": ["eq": "Ann"]]], ["lot", "person"]),
            (["_not": ["bids_on_lot": ["exist": ["by": ["uid": ["eq": "ann"]]]]]], ["lot", "bid", "person"]),
            (["_or": [["bids_on_lot": ["count": ["gt": 2]]], ["kind": ["eq": "OPEN"]]]], ["lot", "bid"]),
        ] as [(JSONValue?, [String])])
    func aFilterFromAVariableReadsTheTablesThatItNames(filter: JSONValue?, tables: [String]) throws {
        let operation = try Self.operation(
            "query Q($f: Lot_Filter) @auth(level: PUBLIC) { lots(where: $f, orderBy: [{id: ASC}]) { id } }")
        let query = LiveQuery(
            operation: operation.reference, version: operation.version, variables: filter.map { ["f": $0] } ?? [:],
            auth: nil)
        let rules = try #require(try operation.queryRules(of: query).automatic)
        #expect(Set(rules.sites.map(\.form.table)) == Set(tables) && !rules.mayReadAnything)
    }

    /// Whether a new row concerns a list by a filter from a variable.
    @Test(
        arguments: [
            (nil, ["kind": "CLOSED"], true), ([:], ["kind": "CLOSED"], true),
            (["kind": ["eq": "OPEN"]], ["kind": "CLOSED"], false), (["kind": ["eq": "OPEN"]], ["kind": "OPEN"], true),
            (["kind": ["eq": "OPEN"]], [:], true), (["kind": ["ne": "OPEN"]], ["kind": "OPEN"], false),
            (["title": ["in": ["a", "b"]]], ["title": "c"], false), (["title": ["in": ["a"]]], ["title": "a"], true),
            (["title": ["in": []]], ["title": "a"], false), (["title": ["nin": ["a"]]], ["title": "a"], false),
            (["title": ["nin": ["a", "b"]]], ["title": "c"], true),
            (["title": ["nin": ["a"]]], ["title": .null], false),
            // Null is none of no values, and equal texts may have other bytes.
            (["title": ["nin": []]], ["title": .null], true),
            (["title": ["ne": "\u{e9}"]], ["title": "e\u{301}"], true),
            (["title": ["eq": .null]], ["title": "a"], false), (["title": ["eq": .null]], ["title": .null], true),
            (["title": ["ne": "a"]], ["title": .null], false), (["title": ["isNull": false]], ["title": .null], false),
            (["_or": [["kind": ["eq": "OPEN"]], ["title": ["eq": "a"]]]], ["kind": "CLOSED", "title": "b"], false),
            (["_or": [["kind": ["eq": "OPEN"]], ["title": ["eq": "a"]]]], ["kind": "CLOSED"], true),
            (["_or": [["kind": ["eq": "OPEN"]], ["title": ["eq": "a"]]]], ["kind": "CLOSED", "title": "a"], true),
            (["_and": [["kind": ["eq": "OPEN"]], [:]]], ["kind": "CLOSED"], false),
            // Left out of the query, or unknown to events.
            (["_or": [["kind": ["eq": "OPEN"]], [:]]], ["kind": "CLOSED"], false),
            (["_or": [["kind": ["eq": "OPEN"]], ["size": ["gt": 3]]]], ["kind": "CLOSED"], true),
            (["_not": ["kind": ["eq": "OPEN"]]], ["kind": "OPEN"], true),
            (["owner": ["name": ["eq": "Ann"]], "kind": ["eq": "OPEN"]], ["kind": "CLOSED"], false),
            (["code": ["eq": "x"]], ["code": "y"], true), (["title": ["contains": "x"]], ["title": "y"], true),
        ] as [(JSONValue?, JSONObject, Bool)])
    func aFilterFromAVariableIsComparedWithRows(filter: JSONValue?, row: JSONObject, isConcerned: Bool) throws {
        let operation = try Self.operation(
            "query Q($f: Lot_Filter) @auth(level: PUBLIC) { lots(where: $f, orderBy: [{id: ASC}]) { id } }")
        let sent = try operation.coerce(filter.map { ["f": $0] } ?? [:])
        #expect(try Self.isConcerned(operation, sent, RowChange(table: "lot", before: nil, after: row)) == isConcerned)
    }

    /// Whether an update of a row that the list does not show concerns it. Fields count that the filter names.
    @Test(
        arguments: [
            (["size": ["gt": 3]], "size", true), (["size": ["gt": 3]], "code", false),
            (["code": ["eq": "x"]], "code", true), (["_not": ["kind": ["eq": "OPEN"]]], "kind", true),
            (["_not": ["kind": ["eq": "OPEN"]]], "code", false), (nil, "size", false), (nil, "title", true),
            (["owner": ["name": ["eq": "Ann"]]], "ownerUid", true), (["owner": ["name": ["eq": "Ann"]]], "size", false),
        ] as [(JSONValue?, String, Bool)])
    func onlyFieldsThatAFilterFromAVariableNamesCount(filter: JSONValue?, field: String, isConcerned: Bool) throws {
        let operation = try Self.operation(
            "query Q($f: Lot_Filter) @auth(level: PUBLIC) { lots(where: $f, orderBy: [{title: ASC}]) { id title } }")
        let sent = try operation.coerce(filter.map { ["f": $0] } ?? [:])
        let change = RowChange(table: "lot", before: [:], after: [:], changed: [field])
        #expect(try Self.isConcerned(operation, sent, change) == isConcerned)
    }

    /// A row of a table that a filter names counts by the fields that the filter names of it.
    @Test(arguments: [("amount", true), ("lotId", true), ("byUid", false)])
    func onlyFieldsOfRelatedRowsThatAFilterNamesCount(field: String, isConcerned: Bool) throws {
        let operation = try Self.operation(
            "query Q($f: Lot_Filter) @auth(level: PUBLIC) { lots(where: $f, orderBy: [{id: ASC}]) { id } }")
        let sent = try operation.coerce(["f": ["bids_on_lot": ["exist": ["amount": ["gt": 3]]]]])
        let change = RowChange(table: "bid", before: [:], after: [:], changed: [field])
        #expect(try Self.isConcerned(operation, sent, change) == isConcerned)
    }

    /// The same table is read at another place of the query, by other fields.
    @Test(
        arguments: [
            #"lots(where: $f, orderBy: [{owner: {name: ASC}}]) { id }"#,
            "lots(where: $f, orderBy: [{id: ASC}]) { id } people { _count }",
            "lots(where: $f, distinct: true, orderBy: [{id: ASC}]) { id owner { name } }",
        ])
    func fieldsThatAFilterNamesCountBesideOthersOfTheTable(fields: String) throws {
        let schema = Self.schema.replacing("name: String! }", with: "name: String! city: String }")
        let operation = try Self.operation(
            of: Self.project("query Q($f: Lot_Filter) @auth(level: PUBLIC) { \(fields) }", schema: schema))
        let sent = try operation.coerce(["f": ["owner": ["city": ["eq": "x"]]]])
        let change = RowChange(table: "person", before: [:], after: [:], changed: ["city"])
        #expect(try Self.isConcerned(operation, sent, change))
    }

    /// A view is read only if the filter names it.
    @Test(
        arguments: [
            (["kind": ["eq": "OPEN"]], false), (["riches_on_lot": ["exist": ["amount": ["gt": 3]]]], true),
        ] as [(JSONValue, Bool)])
    func aFilterFromAVariableReadsTheViewsThatItNames(filter: JSONValue, isConcerned: Bool) throws {
        var project = Self.project(
            "query Q($f: Lot_Filter) @auth(level: PUBLIC) { lots(where: $f, limit: 9) { id } }",
            schema: Self.viewSchema)
        let texts = try Catalog.compile(project).sqlTexts.map(\.text)
        project.sqlReads = SQLReads(
            Dictionary(uniqueKeysWithValues: texts.map { ($0, Self.finding(["bid": ["amount", "lot_id"]])) }))
        let operation = try Self.operation(of: project)
        let change = RowChange(table: "bid", before: nil, after: [:])
        #expect(try Self.isConcerned(operation, try operation.coerce(["f": filter]), change) == isConcerned)
    }

    private static func isConcerned(
        _ operation: StoredOperation, _ variables: JSONObject, _ change: RowChange
    ) throws -> Bool {
        let query = LiveQuery(
            operation: operation.reference, version: operation.version, variables: variables, auth: nil)
        var index = RuleIndex()
        index.insert(1, rules: try operation.queryRules(of: query))
        let event = MutationEvent(captured: RowChanges([change]), id: "e", committedAtMs: 0)
        return !index.match(event).live.isEmpty
    }

    /// A branch is left out only if all of its parts are.
    @Test(arguments: [(JSONValue.null, true), ("OPEN", false)])
    func aBranchStaysThatEventsCannotTellWhole(kind: JSONValue, isConcerned: Bool) throws {
        let operation = try Self.operation(
            """
            query Q($k: Kind) @auth(level: PUBLIC) {
              lots(where: {_or: [{title: {contains: "a"}, kind: {eq: $k}}, {title: {eq: "b"}}]}, orderBy: [{id: ASC}]) {
                id
              }
            }
            """)
        let row: JSONObject = ["kind": "CLOSED", "title": "xa"]
        let change = RowChange(table: "lot", before: nil, after: row)
        #expect(try Self.isConcerned(operation, ["k": kind], change) == isConcerned)
    }

    @Test func filtersOfOneVariableAreToldApart() throws {
        let sites = try Self.sites(
            """
            ($fs: [Lot_Filter!]) @auth(level: PUBLIC) {
              a: lots(where: {_and: $fs}) { _count } b: lots(where: {_or: $fs}) { _count }
            }
            """)
        #expect(sites.filter { $0.contains("matches") }.count == 2, "\(sites)")
    }

    /// Rows that are counted satisfy the filter before or after their change.
    @Test(
        arguments: [
            (2, 5, true), (5, 2, true), (2, 3, false), (5, 6, true), (nil, 2, true),
        ] as [(Int64?, Int64, Bool)])
    func rowsOfAnAggregateAreCompared(before: Int64?, after: Int64, isConcerned: Bool) throws {
        let operation = try Self.operation(
            "query Q($p: Int!) @auth(level: PUBLIC) { bids(where: {amount: {gt: $p}}) { _count amount_sum } }")
        let change = RowChange(
            table: "bid", before: before.map { ["amount": .int($0)] } ?? [:], after: ["amount": .int(after)],
            changed: ["amount"])
        #expect(try Self.isConcerned(operation, ["p": 4], change) == isConcerned)
    }

    /// A field that only a filter uses matters where its tests begin or cease to hold.
    @Test(
        arguments: [
            ("bids(where: {amount: {gt: $p}}) { _count }", 5, 6, false),
            ("bids(where: {amount: {gt: $p}}) { _count }", 5, 3, true),
            ("bids(where: {amount: {gt: $p}}) { _count }", nil, 6, true),
            ("bids(where: {amount: {gt: $p, lt: 9}}, orderBy: [{id: ASC}]) { id }", 5, 6, false),
            ("bids(where: {amount: {gt: $p, lt: 9}}, orderBy: [{id: ASC}]) { id }", 9, 6, true),
            ("bids(where: {_or: [{amount: {eq: 5}}, {amount: {eq: 6}}]}) { _count }", 5, 6, false),
            ("bids(where: {amount: {in: [5, 6]}}) { _count }", 5, 6, false),
            ("bids(where: {amount: {gt: $p}, by: {name: {eq: \"ann\"}}}) { _count }", 5, 6, false),
            // Used for more than a filter, or in a test that events do not tell.
            ("bids(where: {amount: {gt: $p}}) { _count amount_sum }", 5, 6, true),
            ("bids(where: {amount: {gt: $p}}, orderBy: [{amount: ASC}]) { id }", 5, 6, true),
            ("bids(where: {amount: {gt: $p}}) { id }", 5, 6, true),
            ("bids(where: {amount: {gt: $p}, _not: {amount: {eq: 6}}}) { _count }", 5, 6, true),
            ("bids(where: {_and: [{amount: {in: [4, 5]}}, {amount: {in: [5, 6]}}]}) { _count }", 5, 6, true),
            // The second list makes one site with the first.
            (
                "bids(where: {amount: {gt: $p}}) { _count } b: bids(where: {amount: {gt: $p, ne: 6}}) { _count }", 5, 6,
                true
            ),
        ] as [(String, Int64?, Int64, Bool)])
    func onlyTheFilterMattersOfSomeFields(fields: String, before: Int64?, after: Int64, isConcerned: Bool) throws {
        let parameter = fields.contains("$p") ? "($p: Int!)" : ""
        let operation = try Self.operation("query Q\(parameter) @auth(level: PUBLIC) { \(fields) }")
        let key: JSONObject = ["id": "00000000000040008000000000000001"]
        func image(_ amount: Int64?) -> JSONObject {
            var image = key
            if let amount { image["amount"] = .int(amount) }
            return image
        }
        let change = RowChange(table: "bid", before: image(before), after: image(after), changed: ["amount"])
        #expect(try Self.isConcerned(operation, ["p": 4], change) == isConcerned)
    }

    /// Nothing is surely none of some values of which one is null.
    @Test(arguments: [("X", false), (.null, true)] as [(JSONValue, Bool)])
    func aNullAmongExcludedValuesIsUnknown(value: JSONValue, isConcerned: Bool) throws {
        let operation = try Self.operation(
            """
            query Q($a: String = "Y") @auth(level: PUBLIC) {
              lots(where: {_or: [{title: {nin: [$a, "Z"]}}, {kind: {eq: OPEN}}]}) { _count }
            }
            """)
        let change = RowChange(
            table: "lot", before: ["title": "T", "kind": "CLOSED"], after: ["title": "T", "kind": "OPEN"],
            changed: ["kind"])
        #expect(try Self.isConcerned(operation, ["a": value], change) == isConcerned)
    }

    // MARK: Native SQL and views

    private static let viewSchema =
        schema
        + #"type Rich @view(sql: "SELECT * FROM bid") { amount: Int lot: Lot }"#
        + #"type Named @view(name: "n") { extra: Any }"#

    /// The sites of a query on a database that says this of its only SQL text.
    private static func sites(
        _ query: String, _ finding: SQLReads.Finding, unknown: Bool = false
    ) throws -> [String] {
        var project = project(query, schema: viewSchema)
        let former = try operation(of: project)
        #expect(former.automaticSites?.mayReadAnything == true)
        let text = try #require(try Catalog.compile(project).sqlTexts.first?.text)
        project.sqlReads = SQLReads([unknown ? "SELECT" : text: finding])
        let catalog = try Catalog.compile(project)
        let operation = try #require(catalog.connectors["main"]?.operations.values.first)
        #expect((operation.version == former.version) == unknown)
        // The database is asked about the same texts again.
        #expect(catalog.sqlTexts.map(\.text) == [text])
        let sites = try #require(operation.automaticSites)
        if sites.mayReadAnything { return ["anything"] }
        #expect(operation.readWriteSet.readsTime == finding.readsTime)
        return sites.sites.map { site in
            "\(site.form.table): \(site.guardTexts.joined(separator: ", "));"
                + " \(site.form.fields.map { $0.sorted().joined(separator: " ") } ?? "all")"
        }.sorted()
    }

    private static func finding(
        _ tables: [String: [String]?], _ order: SQLReads.StoredOrder = .none, readsTime: Bool = false
    ) -> SQLReads.Finding {
        .init(
            tables: tables.sorted { $0.key < $1.key }.map { .init(name: $0.key, columns: $0.value) },
            storedOrder: order, readsTime: readsTime)
    }

    @Test func tablesThatSQLReadsHaveSites() throws {
        let native = #"query Q($u: UUID) @auth(level: PUBLIC) { _select(sql: "SELECT $1", params: [$u]) }"#
        #expect(try Self.sites(native, Self.finding(["bid": ["lot_id", "amount"]])) == ["bid: ; amount lotId"])
        #expect(try Self.sites(native, Self.finding(["bid": []], readsTime: true)) == ["bid: ; "])
        #expect(try Self.sites(native, Self.finding([:])) == [])
        // Rows may come as they are stored, and a whole row has all fields.
        #expect(try Self.sites(native, Self.finding(["bid": ["amount"]], .order)) == ["bid: ; all"])
        #expect(try Self.sites(native, Self.finding(["bid": ["amount"]], .rows)) == ["bid: ; all"])
        #expect(try Self.sites(native, Self.finding(["bid": nil])) == ["bid: ; all"])
        #expect(try Self.sites(native, Self.finding(["bid": ["amount", "gone"]])) == ["bid: ; all"])
        // What is not known of this text, or names a table without a type, says nothing.
        #expect(try Self.sites(native, Self.finding(["bid": []]), unknown: true) == ["anything"])
    }

    @Test func listsOfViewsComeInTheOrderOfTheirValues() throws {
        let view = "query Q @auth(level: PUBLIC) { riches { amount lot { title } } }"
        #expect(
            try Self.sites(view, Self.finding(["bid": ["amount", "lot_id"]], .order))
                == ["bid: ; amount lotId", "lot: ; id title"])
        #expect(
            try Self.sites(view, Self.finding(["bid": ["amount"]], .rows)) == ["bid: ; all", "lot: ; id title"])
        // Values without an order come in any.
        let named = "query Q @auth(level: PUBLIC) { nameds { extra } }"
        #expect(try Self.sites(named, Self.finding(["bid": ["amount"]], .order)) == ["bid: ; all"])
    }

    @Test func parametersOfTextsAreNulls() throws {
        let catalog = try Self.catalog(
            """
            query Q($u: UUID, $k: Kind, $ts: [String!]) @auth(level: PUBLIC) {
              _select(sql: "SELECT $1, $2, '$3', $3", params: [$u, $k, $ts])
            }
            # freshet: refresh off
            query Off @auth(level: PUBLIC) { _select(sql: "SELECT 2", params: []) }
            """)
        #expect(catalog.sqlTexts.map(\.text) == [#"SELECT NULL::uuid, NULL::"kind", '$3', NULL::text[]"#])
        #expect(catalog.sqlTexts.first?.operations == [OperationReference(connector: "main", operation: "Q")])
    }

    @Test func aVariableThatIsNotSentGuardsNothing() throws {
        let operation = try Self.operation(
            "query Q($k: Kind) @auth(level: PUBLIC) { lots(where: {kind: {eq: $k}}) { id } }")
        func values(_ variables: JSONObject) throws -> [[AutomaticRules.Values]] {
            let query = LiveQuery(
                operation: operation.reference, version: operation.version, variables: variables, auth: nil)
            return try #require(try operation.queryRules(of: query).automatic).sites.map(\.values)
        }
        #expect(try values(["k": "OPEN"]) == [[.one("OPEN")]])
        #expect(try values(["k": .null]) == [[.any]])
        #expect(try values([:]) == [[.any]])
    }

    @Test func aCommentAboveAnOperationSetsItsMode() throws {
        let text =
            """
            # A list.
            # freshet: refresh automatic
            # Its newest first.
            query Plain @auth(level: PUBLIC) { lots { id } }
            # freshet: refresh automatic

            query Apart @auth(level: PUBLIC) { lots { id } }
              #  freshet: refresh observe
            query Seen @auth(level: PUBLIC) { lots { id } }
            # freshet: refresh sometimes
            query Wrong @auth(level: PUBLIC) { lots { id } }
            # freshet: refresh off
            query Off @auth(level: PUBLIC) { lots { id } }
            # freshet
            query Other @auth(level: PUBLIC) { lots { id } }
            """
        func uses(_ mode: AutomaticRefresh) throws -> [String: AutomaticSites.Use?] {
            try #require(try Self.catalog(text, mode).connectors["main"]).operations.mapValues(\.automaticSites?.use)
        }
        #expect(
            try uses(.off) == [
                "Plain": .refreshes, "Apart": nil, "Seen": .isObserved, "Wrong": nil, "Off": nil, "Other": nil,
            ])
        #expect(try uses(.init(mode: .all))["Off"] == .some(nil))
        #expect(try uses(.init(mode: .all))["Other"] == .refreshes)
        let warnings = try Self.catalog(text, .off).warnings.filter { $0.rule == .configurationValue }
        #expect(warnings.map(\.line) == [10])
        #expect(warnings.first?.message.contains("refresh sometimes") == true)
    }

    @Test func modesSayWhichQueriesRefreshByThemselves() throws {
        let text =
            """
            query Plain @auth(level: PUBLIC) { lots { id } }
            query Timed @auth(level: PUBLIC) @refresh(every: {seconds: 60}) { lots { id } }
            query Ruled @auth(level: PUBLIC) @refresh(onMutationExecuted: {operation: "M"}) { lots { id } }
            mutation M @auth(level: PUBLIC) { lot_deleteMany(all: true) }
            """
        func automatic(_ mode: AutomaticRefresh) throws -> [String] {
            let operations = try #require(try Self.catalog(text, mode).connectors["main"]).operations
            return operations.filter { $0.value.automaticSites != nil }.keys.sorted()
        }
        #expect(try automatic(.off).isEmpty)
        #expect(try automatic(.init(mode: .lists)) == ["Plain", "Timed"])
        #expect(try automatic(.init(mode: .all)) == ["Plain", "Ruled", "Timed"])
        let overrides = [
            AutomaticRefresh.Override(pattern: "main/*ed", mode: .all),
            AutomaticRefresh.Override(pattern: "main/R*d", mode: .off),
        ]
        #expect(try automatic(.init(mode: .lists, overrides: overrides)) == ["Plain", "Timed"])
        // Live queries with other rules are others.
        let versions = try [AutomaticRefresh.off, .init(mode: .all)].map { mode in
            try Self.catalog(text, mode).connectors["main"]?.operations["Plain"]?.version
        }
        #expect(versions[0] != versions[1])
    }

    @Test func eventsReachTheQueriesThatReadWhatTheMutationWrites() throws {
        let catalog = try Self.catalog(
            """
            query Lots @auth(level: PUBLIC) { lots { id } }
            query Bids @auth(level: PUBLIC) { bids { id } }
            query Persons @auth(level: PUBLIC) { people { name } }
            query Native @auth(level: PUBLIC) { _select(sql: "SELECT 1", params: []) }
            mutation Drop($id: UUID!) @auth(level: PUBLIC) { lot_delete(id: $id) }
            mutation Join($uid: String!) @auth(level: PUBLIC) { person_insert(data: {uid: $uid, name: "a"}) }
            mutation Rename($uid: String!, $to: String!) @auth(level: PUBLIC) {
              person_update(key: {uid: $uid}, data: {uid: $to})
            }
            mutation Any @auth(level: PUBLIC) { _execute(sql: "SELECT 1", params: []) }
            """)
        func refreshed(_ mutation: String) -> [String] {
            catalog.queriesRefreshed(by: OperationReference(connector: "main", operation: mutation)).map(\.operation)
        }
        // Foreign keys of a database that was there before may follow.
        #expect(refreshed("Rename") == ["Bids", "Lots", "Native", "Persons"])
        #expect(refreshed("Drop") == ["Bids", "Lots", "Native"])
        #expect(refreshed("Join") == ["Native", "Persons"])
        #expect(refreshed("Any") == ["Bids", "Lots", "Native", "Persons"])
    }
}

/// The changes of rows that mutations tell.
@Suite struct MutationRowsTests {
    private static let schema =
        """
        type Lot @table(key: "id") { id: Int! title: String! kind: String! price: Float size: Int! @default(value: 3) }
        type Bid @table(key: "id") { id: Int! lot: Lot! amount: Int! }
        type Tip @table(key: "id") { id: Int! bid: Bid about: Lot }
        """

    private static func rows(_ mutation: String, _ variables: JSONObject) throws -> [String]? {
        let catalog = try LibrarySchema.compile(["main": "mutation M\(mutation)"], schema: schema)
        let operation = try #require(catalog.connectors["main"]?.operations.values.first)
        let call = try operation.mutationCall(
            variables: try operation.coerce(variables), auth: nil, nowMs: 0, recordedFields: [:],
            makeUUID: { "f0000000-0000-4000-8000-00000000000f" })
        return call.rows?.all.map { change in
            func text(_ image: JSONObject?) -> String { image.map { JSONValue.object($0).text } ?? "-" }
            return "\(change.table) \(text(change.before)) → \(text(change.after))"
                + (change.changed.map { " \($0.joined(separator: " "))" } ?? "")
        }
    }

    @Test func anInsertTellsTheNewRowAndThoseBelowIt() throws {
        #expect(
            try Self.rows(
                """
                ($id: Int!, $t: String!, $k: String) @auth(level: PUBLIC) {
                  lot_insert(data: {id: $id, title: $t, kind: $k, price: 1.5, bids_on_lot: [{id: 4, amount: 7}]})
                }
                """, ["id": 1, "t": "a"]) == [
                    #"lot - → {"id":1,"size":3,"title":"a"}"#, #"bid - → {"amount":7,"id":4,"lotId":1}"#,
                ])
    }

    @Test func anUpsertMayFindARowWithTheSameKey() throws {
        #expect(
            try Self.rows(
                "($id: Int!) @auth(level: PUBLIC) { lot_upsert(data: {id: $id, title: \"a\", kind: \"k\"}) }",
                ["id": 1]) == [#"lot {"id":1} → {"id":1,"kind":"k","title":"a"}"#])
    }

    @Test func anUpdateTellsWhatItSets() throws {
        let update = "($id: Int!, $k: String) @auth(level: PUBLIC) { lot_update(id: $id, data: {kind: $k, size: 2}) }"
        #expect(
            try Self.rows(update, ["id": 1, "k": "x"])
                == [#"lot {"id":1} → {"id":1,"kind":"x","size":2} kind size"#])
        // Without the variable the kind stays as it was.
        #expect(try Self.rows(update, ["id": 1]) == [#"lot {"id":1} → {"id":1,"size":2} size"#])
        #expect(
            try Self.rows(
                "($id: Int!) @auth(level: PUBLIC) { lot_update(id: $id, data: {size_update: {inc: 1}}) }", ["id": 1])
                == [#"lot {"id":1} → {"id":1} size"#])
        #expect(
            try Self.rows(
                "($k: String!) @auth(level: PUBLIC) { lot_updateMany(where: {size: {gt: 1}}, data: {kind: $k}) }",
                ["k": "x"]) == [#"lot {} → {"kind":"x"} kind"#])
        // Foreign keys may follow a key.
        #expect(
            try Self.rows(
                "($id: Int!, $to: Int!) @auth(level: PUBLIC) { lot_update(id: $id, data: {id: $to}) }",
                ["id": 1, "to": 2])
                == [#"lot {"id":1} → {"id":2} id"#, "bid {} → {} lotId", "tip {} → {} aboutId"])
    }

    @Test func aDeleteTellsTheRowsThatFollow() throws {
        #expect(
            try Self.rows("($id: Int!) @auth(level: PUBLIC) { lot_delete(id: $id) }", ["id": 1]) == [
                #"lot {"id":1} → -"#, #"bid {"lotId":1} → -"#, #"tip {"aboutId":1} → {} aboutId"#, "tip {} → {} bidId",
            ])
    }

    @Test func nativeSQLTellsNothing() throws {
        #expect(
            try Self.rows("@auth(level: PUBLIC) { _execute(sql: \"DELETE FROM lot\", params: []) }", [:]) == nil)
    }

    @Test func textsThatAreLongAreUnknown() throws {
        let long = String(repeating: "a", count: 200)
        #expect(
            try Self.rows(
                "($t: String!) @auth(level: PUBLIC) { lot_insert(data: {id: 1, title: $t, kind: \"k\"}) }",
                ["t": .string(long)])
                == [#"lot - → {"id":1,"kind":"k","size":3}"#])
    }
}
