import Catalog
import JSON
import LiveModel
import Operations
import SchemaModel
import Testing

/// The ends of nested lists as results tell them.
@Suite struct NestedListEndsTests {
    private static func operation(_ text: String) throws -> StoredOperation {
        let schema =
            """
            type Lot @table(key: "id") { id: Int! title: String! closes: Timestamp }
            type Bid @table(key: "id") { id: Int! lot: Lot! amount: Int! }
            type Tip @table(key: "id") { id: Int! bid: Bid! size: Int! }
            """
        let catalog = try Catalog.compile(
            Project(
                serviceID: "s", schemaFiles: [SourceFile(path: "schema.gql", text: schema)],
                connectors: [ConnectorSource(id: "main", files: [SourceFile(path: "q.gql", text: text)])],
                automaticRefresh: AutomaticRefresh(mode: .all)))
        return try #require(catalog.connectors["main"]?.operations.values.first)
    }

    /// The lists of each site that has any, `hash of 1: 2 rows, last 5 7`.
    private static func lists(_ text: String, of result: String) throws -> [[String]] {
        let finished = try operation(text).finish(Array(result.utf8), variables: [:], auth: nil, nowMs: 0)
        let names = Dictionary(
            uniqueKeysWithValues: (0..<10).map { (RowHasher.hash(CollectionOfOne("\($0)")), "\($0)") })
        return try #require(finished.rowsRead).map { read in
            read.lists.map { list in
                let bound = list.bound.map { "\(names[$0] ?? "?"): " } ?? ""
                return bound + "\(list.count) rows, last \(list.last.map(\.text).joined(separator: " "))"
            }
        }.filter { !$0.isEmpty }
    }

    @Test func eachObjectEnclosesAListOfItsOwn() throws {
        let found = try Self.lists(
            """
            query Q @auth(level: PUBLIC) {
              lots(limit: 9, orderBy: [{id: ASC}]) {
                bids_on_lot(limit: 2, orderBy: [{amount: ASC}]) {
                  amount id tips_on_bid(limit: 1, orderBy: [{size: DESC}]) { size id }
                }
                id
              }
            }
            """,
            of: """
                {"lots":[
                {"bids_on_lot":[{"amount":5,"id":4,"tips_on_bid":[{"size":3,"id":1}]},
                {"amount":6,"id":7,"tips_on_bid":[]}],"id":1},
                {"bids_on_lot":[],"id":2},
                {"bids_on_lot":[{"amount":9,"id":8,"tips_on_bid":[{"size":2,"id":5}]}],"id":3}]}
                """)
        #expect(
            found == [
                ["3 rows, last 3"], ["1: 2 rows, last 6 7", "2: 0 rows, last ", "3: 1 rows, last 9 8"],
                ["4: 1 rows, last 3 1", "7: 0 rows, last ", "8: 1 rows, last 2 5"],
            ])
    }

    @Test func theSameListUnderTwoNamesIsTwoSites() throws {
        let found = try Self.lists(
            """
            query Q @auth(level: PUBLIC) {
              lots(orderBy: [{id: ASC}]) {
                id low: bids_on_lot(limit: 1, orderBy: [{amount: ASC}]) { amount id }
                high: bids_on_lot(limit: 1, orderBy: [{amount: DESC}]) { amount id }
              }
            }
            """,
            of: #"{"lots":[{"id":1,"low":[{"amount":2,"id":3}],"high":[{"amount":8,"id":4}]}]}"#)
        #expect(found == [["1 rows, last 1"], ["1: 1 rows, last 2 3"], ["1: 1 rows, last 8 4"]])
    }

    /// The rows of a site may be of any list then, so that no list has an end.
    @Test func moreListsThanTheBoundTellNoEnds() throws {
        let text = """
            query Q @auth(level: PUBLIC) {
              lots { id bids_on_lot(limit: 1, orderBy: [{amount: ASC}]) { amount id } }
            }
            """
        func count(_ lots: Int) throws -> Int {
            let list = (0..<lots).map { #"{"id":\#($0),"bids_on_lot":[{"amount":1,"id":2}]}"# }
            let body = Array(#"{"lots":[\#(list.joined(separator: ","))]}"#.utf8)
            let read = try Self.operation(text).finish(body, variables: [:], auth: nil, nowMs: 0).rowsRead
            return try #require(read).map { $0.bound == nil ? 0 : $0.lists.count }.max() ?? 0
        }
        #expect(try count(RowsRead.listsMax) == RowsRead.listsMax)
        #expect(try count(RowsRead.listsMax + 1) == 0)
    }

    @Test(arguments: [
        ("lots(orderBy: [{id: ASC}], limit: 2) { id }", true),
        ("lots(where: {closes: {gt_time: {now: true}}}, orderBy: [{id: ASC}], limit: 2) { id }", false),
        ("lots(where: {closes: {gt_expr: \"request.time\"}}, orderBy: [{id: ASC}], limit: 2) { id }", false),
        ("lots(where: $filter, orderBy: [{id: ASC}], limit: 2) { id }", false),
        ("lot(first: {where: {closes: {gt_time: {now: true}}}, orderBy: [{id: ASC}]}) { id }", false),
    ])
    func aListFromWhichRowsDisappearAsTimePassesHasNoEnd(field: String, hasEnd: Bool) throws {
        let variables = field.contains("$filter") ? "($filter: Lot_Filter)" : ""
        let operation = try Self.operation("query Q\(variables) @auth(level: PUBLIC) { \(field) }")
        let sites = try #require(operation.automaticSites).sites
        #expect(sites.contains { $0.read.shown?.window != nil } == hasEnd)
    }
}
