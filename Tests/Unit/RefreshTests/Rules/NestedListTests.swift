import JSON
import LiveModel
import Testing

@testable import Refresh

/// The ends of nested lists: a new row counts if its own list may show it.
@Suite struct NestedListTests {
    private static func form(bound: String?) -> RowSite {
        let id = RowSite.ID(
            operation: .init(connector: "main", operation: "Q"), version: RefreshFixture.digest(1), number: 0)
        return RowSite(
            id: id, table: "bid", guardFields: [], boundField: bound,
            shown: RowSite.Shown(
                key: ["id"], deciding: ["id", "lotId", "amount"], order: [.init(field: "amount", kind: .number)]),
            fields: nil)
    }

    private static let form = form(bound: "lotId")
    private static let unboundForm = form(bound: nil)

    private static func hash(_ value: String) -> UInt32 { RowHasher.hash(CollectionOfOne(value)) }

    private static func list(_ lot: String?, _ count: Int, last: Int64) -> RowsRead.List {
        RowsRead.List(bound: lot.map(hash), count: count, last: [.int(last)])
    }

    private static func empty(_ lot: String?) -> RowsRead.List {
        RowsRead.List(bound: lot.map(hash), count: 0, last: [])
    }

    /// - Parameter lots: those that the result shows; nil if they are too many.
    private static func site(_ lists: [RowsRead.List], lots: [String]? = ["1", "2"]) -> AutomaticRules.Site {
        let window = ListWindow(limit: 2, isDescending: [false])
        let read = RowsRead(bound: lots.map { RowHashes(values: $0) }, shown: RowHashes([]), lists: lists)
        return AutomaticRules.Site(form: form, values: [], entry: .init(window: window)).after(read, countMax: 100)
    }

    private static func added(_ row: JSONObject) -> RowChange { RowChange(table: "bid", before: nil, after: row) }

    @Test func aRowBehindTheEndOfItsListCountsForNoOther() {
        let site = Self.site([Self.list("1", 2, last: 5), Self.list("2", 2, last: 50)])
        #expect(!site.isConcerned(by: Self.added(["id": "a", "lotId": "1", "amount": 7])))
        #expect(site.isConcerned(by: Self.added(["id": "a", "lotId": "1", "amount": 5])))
        #expect(site.isConcerned(by: Self.added(["id": "a", "lotId": "2", "amount": 7])))
        #expect(!site.isConcerned(by: Self.added(["id": "a", "lotId": "2", "amount": 51])))
        #expect(!site.isConcerned(by: Self.added(["id": "a", "lotId": "3", "amount": 1])))
    }

    @Test func aListThatIsNotFullHasNoEnd() {
        let site = Self.site([Self.list("1", 1, last: 5), Self.list("2", 2, last: 50)])
        #expect(site.isConcerned(by: Self.added(["id": "a", "lotId": "1", "amount": 7])))
        #expect(!site.isConcerned(by: Self.added(["id": "a", "lotId": "2", "amount": 51])))
        // A list that the run did not tell has none either.
        #expect(Self.site([]).isConcerned(by: Self.added(["id": "a", "lotId": "1", "amount": 700])))
    }

    @Test func anUnknownValueMayBeOfAnyList() {
        let site = Self.site([Self.list("1", 2, last: 5), Self.list("2", 2, last: 50)])
        #expect(site.isConcerned(by: Self.added(["id": "a", "amount": 99])))
        #expect(site.isConcerned(by: Self.added(["id": "a", "lotId": "1"])))
    }

    @Test func listsOfOneValueMustEndAlike() {
        let change = Self.added(["id": "a", "lotId": "1", "amount": 7])
        #expect(!Self.site([Self.list("1", 2, last: 5), Self.list("1", 2, last: 5)]).isConcerned(by: change))
        #expect(Self.site([Self.list("1", 2, last: 5), Self.list("1", 2, last: 9)]).isConcerned(by: change))
        #expect(Self.site([Self.list("1", 2, last: 5), Self.empty("1")]).isConcerned(by: change))
    }

    /// A null above a list binds no rows.
    @Test func aListOfNothingCountsForNoOther() {
        let site = Self.site([Self.empty(nil), Self.list("1", 2, last: 5)])
        #expect(!site.isConcerned(by: Self.added(["id": "a", "lotId": "1", "amount": 7])))
    }

    /// Lists whose rows a guard knows
    @Test func listsWithoutABoundFieldMustEndAlike() {
        func isConcerned(_ lists: [RowsRead.List]) -> Bool {
            let window = ListWindow(limit: 2, isDescending: [false])
            let site = AutomaticRules.Site(form: Self.unboundForm, values: [], entry: .init(window: window))
                .after(RowsRead(shown: RowHashes([]), lists: lists), countMax: 100)
            return site.isConcerned(by: Self.added(["id": "a", "lotId": "1", "amount": 7]))
        }
        #expect(!isConcerned([Self.list(nil, 2, last: 5), Self.list(nil, 2, last: 5)]))
        #expect(isConcerned([Self.list(nil, 2, last: 5), Self.list(nil, 2, last: 8)]))
        #expect(isConcerned([Self.list(nil, 2, last: 5), Self.empty(nil)]))
        #expect(isConcerned([]))
    }

    @Test func moreValuesThanAreRememberedLeaveNoEnds() {
        let site = Self.site([Self.list("1", 2, last: 5)], lots: (0...100).map(String.init))
        #expect(site.isConcerned(by: Self.added(["id": "a", "lotId": "1", "amount": 7])))
    }
}
