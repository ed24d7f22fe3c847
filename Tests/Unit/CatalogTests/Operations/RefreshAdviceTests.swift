import Catalog
import SchemaModel
import Testing

/// The mutations that `refresh-missing` and `refresh-often` name.
@Suite struct RefreshAdviceTests {
    private static let auctions = """
        type User @table(key: "uid") { uid: String! name: String city: String about: String }
        type Lot @table {
          title: String! category: String description: String @searchable seller: User bidCount: Int closesAt: Timestamp
        }
        type Bid @table { lot: Lot! user: User amount: Int! }
        type Watch @table(key: ["user", "lot"]) { user: User! lot: Lot! note: String }
        """

    /// The mutations that the advice names for a query.
    private func named(
        _ query: String, variables: String = "", rule: Diagnostic.Rule = .refreshMissing
    ) throws -> [String] {
        let id = "id: \"\(CatalogHarness.uuidA)\""
        let mutations = [
            "About": #"user_update(key: {uid: "u"}, data: {about: "a"})"#,
            "City": #"user_updateMany(where: {uid: {eq: "u"}}, data: {city: "a"})"#,
            "Text": "lot_update(\(id), data: {description: \"a\"})",
            "Count": "lot_update(\(id), data: {bidCount_update: {inc: 1}})",
            "Move": "lot_update(\(id), data: {seller: {uid: \"u\"}})",
            "Raise": "bid_update(\(id), data: {amount: 1})",
            "Note": #"watch_update(key: {user: {uid: "u"}, lot: {\#(id)}}, data: {note: "a"})"#,
        ].map { "mutation \($0.key) @auth(level: USER) { \($0.value) }" }.sorted()
        let text = "query Q\(variables) @auth(level: USER) \(query) \(mutations.joined(separator: " "))"
        let help = try CatalogHarness.compile(text, schema: Self.auctions).lints.first { $0.rule == rule }?.help ?? ""
        return help.split(separator: "\"").enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }

    @Test(
        arguments: [
            ("{ users { name } }", []), ("{ users { about } }", ["About"]), ("{ lots { title } }", []),
            ("{ lots { title seller { name } } }", ["Move"]),
            ("{ lots { title seller { about } } }", ["Move", "About"]),
            ("{ lots(where: {bidCount: {gt: 1}}) { title } }", ["Count"]),
            ("{ lots(where: {_or: [{seller: {city: {eq: \"a\"}}}]}) { title } }", ["Move", "City"]),
            ("{ lots(orderBy: {description: ASC}) { title } }", ["Text"]),
            ("{ lots(orderBy: {seller: {about: ASC}}) { title } }", ["Move", "About"]),
            ("{ lots(where: {bids_on_lot: {exist: {amount: {gt: 1}}}}) { title } }", ["Raise"]),
            ("{ lots(where: {bids_on_lot: {count: {gt: 1}}}) { title } }", []),
            ("{ lots { bidCount_sum } }", ["Count"]),
            ("{ lots(having: {bidCount_max: {gt: 1}}) { _count } }", ["Count"]),
            ("{ lots_search(query: \"a\") { title } }", ["Text"]), ("{ lots { bids_on_lot { amount } } }", ["Raise"]),
            ("{ lots { bids_on_lot { user { city } } } }", ["City"]),
            ("{ lots { users_via_Watch { about } } }", ["About"]),
            ("{ lots { users_via_Watch(where: {note: {eq: \"a\"}}) { name } } }", ["Note"]),
            ("{ users { lots_on_seller { title } } }", ["Move"]), ("{ lots { _id } }", []),
            ("{ watches { note } bids { user { about } } }", ["Note", "About"]),
        ] as [(String, [String])])
    func onlyMutationsThatWriteColumnsThatTheQueryReadsAreNamed(query: String, mutations: [String]) throws {
        #expect(try named(query) == mutations)
    }

    /// Whether an update matters is unknown where the query's columns are.
    @Test func allWritersAreNamedWhereTheColumnsAreUnknown() throws {
        let ofLots = ["Count", "Move", "Text"]
        #expect(try named(#"{ lots { title } _select(sql: "SELECT 1") }"#) == ofLots)
        #expect(try named("{ lots(where: $f) { title } }", variables: "($f: Lot_Filter)") == ofLots)
        #expect(try named("{ lots(orderBy: $o) { title } }", variables: "($o: [Lot_Order!])") == ofLots)
    }

    @Test func insertsDeletesAndUpsertsAreAlwaysNamed() throws {
        let text = """
            query Q @auth(level: USER) { lots { title seller { name } } }
            mutation A @auth(level: USER) { user_upsert(data: {uid: "u", about: "a"}) }
            mutation B @auth(level: USER) { user_delete(key: {uid: "u"}) }
            mutation C @auth(level: USER) { lot_insertMany(data: [{title: "a"}]) }
            mutation D @auth(level: USER) { lot_deleteMany(all: true) }
            """
        // What writes lots comes first; the deletion of a user also sets sellers to null.
        #expect(
            try CatalogHarness.compile(text, schema: Self.auctions).lints.map(\.help)
                == [
                    #"@refresh(onMutationExecuted: …) could name "C", "D", "A"; "#
                        + "or write automatic: lists into refresh.yaml"
                ])
    }

    @Test func aTimerIsNotCalledNeedlessForWritersOfOtherColumns() throws {
        #expect(try named("@refresh(every: {seconds: 20}) { users { about } }", rule: .refreshOften) == ["About"])
        #expect(try named("@refresh(every: {seconds: 20}) { users { name } }", rule: .refreshOften) == [])
    }
}
