import FreshetStore
import FreshetTypes
import JSON
import Testing

private let shape: EntityShape = .object(["lots": .entity("Lot", key: ["id"])])
private let key = ResultKey(operation: "List", variables: "{}")
private let list: JSONValue = ["lots": [["id": "a", "price": 1], ["id": "b", "price": 2]]]

private func id(_ row: String) -> EntityID { EntityID(type: "Lot", key: [.string(row)]) }

private func insertion(
    _ row: String, at place: RowInsertion.Place = .end, revision: String = "1", list: String = "lots",
    price: JSONValue = 9
) -> OptimisticChange {
    OptimisticChange(
        type: "Lot", key: [.string(row)], fields: ["id": .string(row), "price": price],
        insertion: RowInsertion(result: key, revision: revision, list: list, place: place))
}

extension StoreMachine {
    fileprivate mutating func put(_ document: JSONValue, tag: String? = nil) -> StoreOutcome {
        write(key, document, shape, revision: "1", atMs: 0, tag: tag)
    }

    /// The ids in the list.
    fileprivate var rows: [String] {
        shown(key, revision: "1")?["lots"]?.arrayValue?.compactMap { $0["id"]?.stringValue } ?? []
    }
}

/// Rows that queued mutations add to lists.
@Suite struct StoreInsertionTests {
    @Test func anAddedRowIsShownAndUndone() {
        var store = StoreMachine(bytesMax: 1 << 20)
        _ = store.put(list)
        let applied = store.apply("m", [insertion("c", at: .start)])
        #expect(applied.changed == [key] && applied.saved == [])
        #expect(applied.events.map(\.kind) == [.created] && applied.events[0].record.key == ["c"])
        #expect(store.shown(key, revision: "1")?["lots"]?[0] == ["id": "c", "price": 9])
        #expect(store.fields(of: id("c")) == ["id": "c", "price": 9])
        // The server's next list, without it.
        #expect(store.put(["lots": [["id": "b", "price": 2]]]).events.map(\.kind) == [.deleted])
        #expect(store.rows == ["c", "b"])
        let undone = store.revert("m")
        #expect(undone.changed == [key] && undone.events.map(\.kind) == [.deleted])
        #expect(store.rows == ["b"] && store.entityCount == 1 && store.fields(of: id("c")) == nil)
    }

    @Test func anAddedRowHasItsPlace() {
        for (place, rows) in [
            (RowInsertion.Place.start, ["c", "a", "b"]), (.end, ["a", "b", "c"]), (.before(id("b")), ["a", "c", "b"]),
            (.after(id("a")), ["a", "c", "b"]), (.before(id("z")), ["a", "b", "c"]),
            (.after(id("z")), ["a", "b", "c"]),
        ] {
            var store = StoreMachine(bytesMax: 1 << 20)
            _ = store.put(list)
            _ = store.apply("m", [insertion("c", at: place)])
            #expect(store.rows == rows)
            store.sending("m")
            #expect(store.commit("m").events == [])
            #expect(store.rows == rows)
        }
    }

    /// A row that the server's list has is not shown twice, whichever of them came first.
    @Test func noRowIsShownTwice() {
        var store = StoreMachine(bytesMax: 1 << 20)
        _ = store.put(list)
        _ = store.apply("m", [insertion("c", at: .start)])
        _ = store.apply("n", [insertion("c"), insertion("b")])
        #expect(store.rows == ["c", "a", "b"])
        store.sending("m")
        let longer: JSONValue = ["lots": [["id": "a", "price": 1], ["id": "c", "price": 7]]]
        let outcome = store.put(longer, tag: "t")
        #expect(store.rows == ["a", "c", "b"])
        #expect(outcome.events.map(\.kind) == [], "\(outcome.events)")
        #expect(store.shown(key, revision: "1")?["lots"]?[1]?["price"] == 9, "as it is expected")
        _ = store.revert("n")
        let committed = store.commit("m")
        #expect(store.rows == ["a", "c"] && committed.saved == [])
        #expect(store.shown(key, revision: "1")?["lots"]?[1]?["price"] == 7, "as the server sent it since")
        #expect(store.tagged(key, revision: "1")?.document == longer)
    }

    /// The row stays until the server's next result, which replaces the list.
    @Test func anAppliedRowStaysUntilTheNextResult() throws {
        var store = StoreMachine(bytesMax: 1 << 20)
        _ = store.put(list, tag: "t")
        _ = store.apply("m", [insertion("c")])
        #expect(store.tagged(key, revision: "1")?.document == list, "without what is only expected")
        store.sending("m")
        let asOf = store.uses
        let outcome = store.commit("m")
        #expect(outcome.events == [] && outcome.changed == [key])
        #expect(store.tagged(key, revision: "1") == nil)
        let saved = try #require(outcome.saved.last)
        #expect(saved.tag == nil && saved.rows.contains(id("c")))
        #expect(saved.records[id("c")]?.fields == ["id": "c", "price": 9])
        // From the file it reads the same.
        var other = StoreMachine(bytesMax: 1 << 20)
        var whole = saved
        for row in ["a", "b"] {
            let record = EntityRecord(type: "Lot", key: [.string(row)], fields: ["id": .string(row), "price": 1])
            whole.records[id(row)] = record
        }
        other.load(whole)
        #expect(other.rows == ["a", "b", "c"])
        // Also of one that was asked for before.
        let older = store.write(key, list, shape, revision: "1", atMs: 0, asOf: asOf)
        #expect(older.events.map(\.kind) == [.deleted])
        #expect(store.rows == ["a", "b"] && store.entityCount == 2)
    }

    /// The server has sent the list since the mutation: it has the row, or it does not belong there any more.
    @Test func aListThatTheServerSentSinceStaysAsItIs() {
        var store = StoreMachine(bytesMax: 1 << 20)
        _ = store.put(list)
        _ = store.apply("m", [insertion("c")])
        store.sending("m")
        _ = store.put(list, tag: "t")
        let outcome = store.commit("m")
        #expect(store.rows == ["a", "b"] && outcome.events.map(\.kind) == [.deleted] && outcome.saved == [])
        #expect(store.tagged(key, revision: "1")?.tag == "t")
    }

    @Test func aRowIsAddedToAResultThatComesLater() {
        var store = StoreMachine(bytesMax: 1 << 20)
        #expect(store.apply("m", [insertion("c")]) == StoreOutcome())
        #expect(store.fields(of: id("c")) == nil)
        #expect(store.put(list).events.map(\.kind) == [.created, .created, .created])
        #expect(store.rows == ["a", "b", "c"])
        // It leaves memory, and comes back.
        #expect(store.remove(key).events.map(\.kind) == [.deleted, .deleted, .deleted])
        _ = store.put(list)
        #expect(store.rows == ["a", "b", "c"])
        var all = StoreSelection()
        all.isEverything = true
        #expect(store.invalidate(all).evicted == [key])
        #expect(store.fields(of: id("c")) == nil && store.bytes == 0)
        // What was applied meanwhile is not added to it.
        store.sending("m")
        #expect(store.commit("m") == StoreOutcome())
        _ = store.put(list)
        #expect(store.rows == ["a", "b"])
    }

    @Test func aResultOfAnotherFormGetsNoRow() {
        var store = StoreMachine(bytesMax: 1 << 20)
        _ = store.put(list)
        _ = store.apply("m", [insertion("c", revision: "2"), insertion("d", list: "others")])
        #expect(store.rows == ["a", "b"] && store.fields(of: id("c")) == nil)
        #expect(store.commit("m").saved == [])
        #expect(store.rows == ["a", "b"] && store.entityCount == 2)
    }

    /// Another list has sent the row, without a field that this one shows.
    @Test func anAddedRowKeepsItsFields() throws {
        var store = StoreMachine(bytesMax: 1 << 20)
        _ = store.put(list)
        _ = store.apply("m", [insertion("c")])
        store.sending("m")
        let other: JSONValue = ["lots": [["id": "c", "text": "new"]]]
        _ = store.write(
            ResultKey(operation: "Other", variables: "{}"), other, shape, revision: "1", atMs: 0)
        let outcome = store.commit("m")
        #expect(store.shown(key, revision: "1")?["lots"]?[2] == ["id": "c", "price": 9])
        let saved = try #require(outcome.saved.last { $0.key == key })
        #expect(saved.records[id("c")]?.fields == ["id": "c", "text": "new", "price": 9])
    }

    /// A list shows a row because of a mutation, and another result with the row leaves.
    @Test(arguments: [false, true])
    func aResultChangesWhenAnotherLeaves(isInvalidation: Bool) {
        var store = StoreMachine(bytesMax: isInvalidation ? 1 << 20 : 2_000)
        let other = ResultKey(operation: "Other", variables: "{}")
        store.follow(key)
        _ = store.write(other, ["lots": [["id": "c", "text": "new"]]], shape, revision: "1", atMs: 0)
        _ = store.put(["lots": [["id": "a", "price": 1, "text": nil]]])
        _ = store.apply("m", [insertion("c")])
        #expect(store.shown(key, revision: "1")?["lots"]?[1]?["text"] == "new")
        let outcome: StoreOutcome
        if isInvalidation {
            var selection = StoreSelection()
            selection.operations = ["Other"]
            outcome = store.invalidate(selection)
        } else {
            let text = JSONValue.string(String(repeating: "x", count: 2_000))
            let third = ResultKey(operation: "Third", variables: "{}")
            store.follow(third)
            outcome = store.write(
                third, ["lots": [["id": "z", "text": text]]], shape, revision: "1", atMs: 0)
        }
        #expect(outcome.evicted == [other])
        #expect(store.shown(key, revision: "1")?["lots"]?[1]?["text"] == nil as JSONValue)
        #expect(outcome.changed.contains(key) && !outcome.changed.contains(other))
    }

    /// An expected change is the server's only when it has sent the result.
    @Test func resultsThatWereNotSentSinceAreKnown() {
        var store = StoreMachine(bytesMax: 1 << 20)
        let names = ResultKey(operation: "Names", variables: "{}")
        func commit(_ change: OptimisticChange) -> [ResultKey] {
            _ = store.apply("m", [change])
            store.sending("m")
            let assumed = store.commit("m").assumed
            let asOf = store.uses
            let unsent = store.unsent(assumed, since: asOf)
            _ = store.put(list)
            #expect(store.unsent(assumed, since: asOf) == unsent.filter { $0 != key })
            return unsent
        }
        _ = store.put(list)
        _ = store.write(names, ["lots": [["id": "a", "name": "A"]]], shape, revision: "1", atMs: 0)
        #expect(commit(insertion("c")) == [key])
        #expect(commit(insertion("a", price: 5)) == [key])
        #expect(commit(OptimisticChange(type: "Lot", key: ["a"], fields: ["price": 3])) == [key])
        #expect(commit(OptimisticChange(type: "Lot", key: ["a"], fields: ["price": 1])) == [], "as it was")
        #expect(commit(OptimisticChange(type: "Lot", key: ["a"], fields: ["text": "x"])) == [], "not shown")
        #expect(commit(OptimisticChange(type: "Lot", key: ["a"], fields: nil)) == [key, names])
        // The server has sent it before the answer.
        _ = store.apply("n", [insertion("c")])
        store.sending("n")
        _ = store.put(list)
        #expect(store.commit("n").assumed == [])
    }

    /// Other results bring the row: the list shows its newer fields.
    @Test func anAddedRowFollowsOtherResults() {
        var store = StoreMachine(bytesMax: 1 << 20)
        let one: EntityShape = .object(["lot": .entity("Lot", key: ["id"])])
        _ = store.put(["lots": [["id": "a", "price": 1, "text": nil]]])
        _ = store.apply("m", [insertion("c")])
        let outcome = store.write(
            ResultKey(operation: "One", variables: "{}"), ["lot": ["id": "c", "price": 3, "text": "new"]], one,
            revision: "1", atMs: 0)
        #expect(outcome.changed.contains(key))
        #expect(outcome.events.map(\.kind) == [.updated(fields: ["text"])])
        #expect(store.shown(key, revision: "1")?["lots"]?[1] == ["id": "c", "price": 9, "text": "new"])
        #expect(store.revert("m").events.map(\.kind) == [.updated(fields: ["price"])])
        #expect(store.rows == ["a"])
    }

    /// Later mutations edit and delete the added row.
    @Test func anAddedRowIsEditedAndDeleted() {
        var store = StoreMachine(bytesMax: 1 << 20)
        _ = store.put(list)
        _ = store.apply("m", [insertion("c")])
        let edit = store.apply("n", [OptimisticChange(type: "Lot", key: ["c"], fields: ["price": 10])])
        #expect(edit.changed == [key] && edit.events.map(\.kind) == [.updated(fields: ["price"])])
        let deletion = store.apply("o", [OptimisticChange(type: "Lot", key: ["c"], fields: nil)])
        #expect(deletion.events.map(\.kind) == [.deleted] && store.rows == ["a", "b"])
        _ = store.revert("o")
        _ = store.revert("m")
        #expect(store.rows == ["a", "b"] && store.fields(of: id("c")) == nil)
    }

    /// Added rows count towards the bound once they are part of a result.
    @Test func theBoundHoldsWithAddedRows() {
        var store = StoreMachine(bytesMax: 4_000)
        for number in 0..<40 {
            _ = store.put(list)
            let text = JSONValue.string(String(repeating: "x", count: 300))
            _ = store.apply("m\(number)", [insertion("c\(number)", price: text)])
            store.sending("m\(number)")
            _ = store.commit("m\(number)")
            #expect(store.bytes <= 4_000)
        }
        _ = store.remove(key)
        #expect(store.bytes == 0 && store.entityCount == 0)
    }

    @Test func insertionsSurviveTheirStoredForm() throws {
        for place in [RowInsertion.Place.start, .end, .before(id("a")), .after(id("b"))] {
            let change = OptimisticChange(
                type: "Watch", key: ["u", "a"], fields: ["note": "x"],
                insertion: RowInsertion(
                    result: key, revision: "1", list: "watches", place: place, known: ["n": 1],
                    members: ["user": ["uid": "u"]]))
            let text = change.stored.description
            #expect(OptimisticChange(stored: try JSONParser.parse(text)) == change)
        }
        // As an earlier release kept changes.
        let former: JSONValue = ["type": "Lot", "key": ["a"], "fields": ["price": 1]]
        #expect(
            OptimisticChange(stored: former) == OptimisticChange(type: "Lot", key: ["a"], fields: ["price": 1]))
        #expect(OptimisticChange(type: "Lot", key: ["a"], fields: ["price": 1]).stored == former)
    }
}
