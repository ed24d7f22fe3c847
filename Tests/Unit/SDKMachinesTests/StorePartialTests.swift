import FreshetStore
import FreshetTypes
import JSON
import Testing

private let lots: EntityShape = .object(["lots": .entity("Lot", key: ["id"])])
private let lot: EntityShape = .object(["lot": .entity("Lot", key: ["id"])])
private let list = ResultKey(operation: "List", variables: "{}")
private let one = ResultKey(operation: "One", variables: "{}")

private func price(_ row: String, _ price: Int64?) -> OptimisticChange {
    OptimisticChange(
        type: "Lot", key: [.string(row)], fields: price.map { ["price": .int($0)] })
}

extension StoreMachine {
    /// A partial list: the prices of `a` and `b`, and a field that failed.
    fileprivate mutating func showList(_ prices: Int64...) {
        let rows = zip(["a", "b"], prices).map { row, price in
            JSONValue.object(["id": .string(row), "price": .int(price), "secret": .null])
        }
        showPartial(list, ["lots": .array(rows)], lots, revision: "1", failed: ["secret"])
    }

    fileprivate mutating func put(_ fields: JSONObject, asOf: UInt64? = nil) -> StoreOutcome {
        write(one, ["lot": .object(fields)], lot, revision: "1", atMs: 0, asOf: asOf)
    }

    fileprivate var prices: [Int64?]? { partial(list)?["lots"]?.arrayValue?.map { $0["price"]?.intValue } }
}

/// Results with errors beside their data.
@Suite struct StorePartialTests {
    @Test func aPartialResultIsInNoCache() {
        var store = StoreMachine(bytesMax: 1 << 20)
        store.showList(1, 2)
        #expect(store.prices == [1, 2])
        #expect(store.read(list, revision: "1") == nil && store.tagged(list, revision: "1") == nil)
        #expect(store.resultCount == 0 && store.entityCount == 0 && store.bytes == 0)
        #expect(store.fields(of: EntityID(type: "Lot", key: ["a"])) == nil)
        // Nor does it change a whole one.
        let whole: JSONValue = ["lots": [["id": "a", "price": 5, "secret": 6]]]
        _ = store.write(list, whole, lots, revision: "1", atMs: 0, tag: "t")
        store.showList(1, 2)
        #expect(store.read(list, revision: "1")?.document == whole)
        #expect(store.tagged(list, revision: "1")?.document == whole)
        store.dropPartial(list)
        #expect(store.partial(list) == nil && store.partialCount == 0)
    }

    @Test func rowsOfPartialResultsFollowOthers() {
        var store = StoreMachine(bytesMax: 1 << 20)
        _ = store.put(["id": "b", "price": 9])
        store.showList(1, 2)
        #expect(store.prices == [1, 2], "it is newer")
        // The same as before in the other result, and newer than the partial one.
        let outcome = store.put(["id": "b", "price": 9])
        #expect(outcome.changed.contains(list) && outcome.saved.allSatisfy { $0.key == one })
        #expect(store.prices == [1, 9])
        #expect(store.put(["id": "b", "price": 9]).changed.isEmpty)
        // What failed is not filled in, and what is not selected not added.
        _ = store.put(["id": "a", "price": 3, "secret": 4, "text": "x"])
        #expect(store.partial(list)?["lots"]?[0] == ["id": "a", "price": 3, "secret": nil])
        // An answer that was asked for before is older.
        let asOf = store.uses
        store.showList(7, 8)
        let other = ResultKey(operation: "Other", variables: "{}")
        _ = store.write(other, ["lot": ["id": "b", "price": 5]], lot, revision: "1", atMs: 0, asOf: asOf)
        #expect(store.prices == [7, 8])
    }

    @Test func partialResultsShowWhatMutationsChange() {
        var store = StoreMachine(bytesMax: 1 << 20)
        store.showList(1, 2)
        #expect(store.apply("m", [price("a", 5)]).changed == [list])
        #expect(store.apply("n", [price("b", nil)]).changed == [list])
        #expect(store.prices == [5])
        #expect(store.revert("n").changed == [list])
        #expect(store.prices == [5, 2])
        store.sending("m")
        #expect(store.commit("m").saved == [])
        #expect(store.prices == [5, 2], "until the server's next result")
        _ = store.apply("o", [price("b", nil)])
        store.sending("o")
        _ = store.commit("o")
        #expect(store.prices == [5])
        store.showList(1, 2)
        #expect(store.prices == [1, 2])
        // What the server has sent since stays as it is.
        _ = store.apply("p", [price("a", 6)])
        store.sending("p")
        store.showList(3, 4)
        #expect(store.prices == [6, 4])
        _ = store.commit("p")
        #expect(store.prices == [3, 4])
        #expect(store.resultCount == 0 && store.entityCount == 0)
    }

    /// A field that failed stays null, whatever a mutation is expected to change.
    @Test func failedFieldsStayNull() {
        var store = StoreMachine(bytesMax: 1 << 20)
        store.showList(1, 2)
        _ = store.apply("m", [OptimisticChange(type: "Lot", key: ["a"], fields: ["price": 5, "secret": 6])])
        #expect(store.partial(list)?["lots"]?[0] == ["id": "a", "price": 5, "secret": nil])
        store.sending("m")
        _ = store.commit("m")
        #expect(store.partial(list)?["lots"]?[0] == ["id": "a", "price": 5, "secret": nil])
    }

    @Test func partialResultsThatWereNotSentSinceAreKnown() {
        var store = StoreMachine(bytesMax: 1 << 20)
        store.showList(1, 2)
        _ = store.apply("m", [price("a", 5)])
        store.sending("m")
        #expect(store.commit("m").assumed == [list])
        let asOf = store.uses
        #expect(store.unsent([list], since: asOf) == [list])
        store.showList(1, 2)
        #expect(store.unsent([list], since: asOf) == [])
        // Rows that it does not have are not its own.
        _ = store.apply("n", [price("z", nil)])
        store.sending("n")
        #expect(store.commit("n").assumed == [])
    }

    @Test func rowsAreAddedToPartialResults() {
        var store = StoreMachine(bytesMax: 1 << 20)
        store.showList(1, 2)
        let addition = OptimisticChange(
            type: "Lot", key: ["c"], fields: ["id": "c", "price": 7],
            insertion: RowInsertion(result: list, revision: "1", list: "lots", place: .start))
        #expect(store.apply("m", [addition]).changed == [list])
        #expect(store.prices == [7, 1, 2])
        _ = store.put(["id": "c", "price": 8])
        #expect(store.prices == [7, 1, 2], "as it is expected")
        store.sending("m")
        _ = store.commit("m")
        #expect(store.prices == [7, 1, 2])
        #expect(store.put(["id": "c", "price": 9]).changed.contains(list))
        #expect(store.prices == [9, 1, 2])
        #expect(store.read(list, revision: "1") == nil)
        store.showList(1, 2)
        #expect(store.prices == [1, 2])
    }
}
