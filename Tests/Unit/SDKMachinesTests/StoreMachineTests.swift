import FreshetStore
import FreshetTypes
import JSON
import Testing

private let lots: EntityShape = .object(["lots": .entity("Lot", key: ["id"])])
private let lot: EntityShape = .object(["lot": .entity("Lot", key: ["id"])])

extension ResultKey {
    fileprivate init(_ operation: String) { self.init(operation: operation, variables: "{}") }
}

extension StoreMachine {
    fileprivate mutating func put(_ name: String, _ document: JSONValue, _ shape: EntityShape) -> StoreOutcome {
        write(ResultKey(name), document, shape, revision: "1", atMs: 0)
    }

    fileprivate mutating func document(_ name: String) -> JSONValue? {
        read(ResultKey(name), revision: "1")?.document
    }
}

@Suite struct StoreMachineTests {
    private let list: JSONValue = ["lots": [["id": "a", "price": 1], ["id": "b", "price": 2]]]

    @Test func aResultReadsAsItWasWritten() {
        var store = StoreMachine(bytesMax: 1 << 20)
        _ = store.put("List", list, lots)
        #expect(store.document("List") == list)
        #expect(store.entityCount == 2)
    }

    /// Seed row 23: an entity that is updated in one area of the app updates in others.
    @Test func aRowIsSharedBetweenResults() {
        var store = StoreMachine(bytesMax: 1 << 20)
        _ = store.put("List", list, lots)
        let outcome = store.put("One", ["lot": ["id": "b", "price": 9, "text": "new"]], lot)
        #expect(outcome.changed == [ResultKey("List"), ResultKey("One")])
        #expect(store.document("List") == ["lots": [["id": "a", "price": 1], ["id": "b", "price": 9]]])
    }

    @Test func aTagEndsWhenAnotherResultBringsANewerRow() {
        var store = StoreMachine(bytesMax: 1 << 20)
        let key = ResultKey("List")
        _ = store.write(key, list, lots, revision: "1", atMs: 0, tag: "t1")
        #expect(store.tagged(key, revision: "1")?.tag == "t1")
        _ = store.put("One", ["lot": ["id": "b", "price": 2, "text": "new"]], lot)
        #expect(store.tagged(key, revision: "1")?.document == list)
        _ = store.apply("m", [OptimisticChange(type: "Lot", key: ["b"], fields: ["price": 7])])
        #expect(store.tagged(key, revision: "1")?.document == list, "without what is only expected")
        let outcome = store.put("One", ["lot": ["id": "b", "price": 9]], lot)
        #expect(store.tagged(key, revision: "1") == nil)
        #expect(outcome.saved.first?.tag == nil)
        let again = store.write(key, list, lots, revision: "1", atMs: 0, tag: "t2")
        #expect(again.saved.first?.tag == "t2" && store.tagged(key, revision: "1")?.tag == "t2")
        _ = store.commit("m")
        #expect(store.tagged(key, revision: "1") == nil)
    }

    @Test func aResultThatReadsOtherwiseHasNoTag() {
        var store = StoreMachine(bytesMax: 1 << 20)
        // One row with two values under one name.
        let document: JSONValue = ["lots": [["id": "a", "price": 1], ["id": "a", "price": 2]]]
        _ = store.write(ResultKey("List"), document, lots, revision: "1", atMs: 0, tag: "t1")
        #expect(store.tagged(ResultKey("List"), revision: "1") == nil)
    }

    @Test func theIDIsTheServers() {
        // select encode(substr(sha256('Lot["0a","x"]'), 1, 16), 'hex') with the separators of json_build_array
        #expect(EntityID(type: "Lot", key: ["0a"]) == EntityID(type: "Lot", key: ["0a"]))
        #expect(EntityID(type: "Lot", key: ["a", 1]).description.count == 32)
        #expect(EntityID(type: "Lot", key: ["a"]) != EntityID(type: "User", key: ["a"]))
    }

    @Test func rowsBelowRowsAreShared() {
        var store = StoreMachine(bytesMax: 1 << 20)
        let shape: EntityShape = .object([
            "bids": .entity("Bid", key: ["id"], ["user": .entity("User", key: ["uid"])])
        ])
        _ = store.put("Bids", ["bids": [["id": "1", "user": ["uid": "u", "name": "Ada"]]]], shape)
        _ = store.put("Me", ["user": ["uid": "u", "name": "Eve"]], .object(["user": .entity("User", key: ["uid"])]))
        #expect(store.document("Bids") == ["bids": [["id": "1", "user": ["uid": "u", "name": "Eve"]]]])
    }

    @Test func aKeyOfAReferenceIsAPath() {
        var store = StoreMachine(bytesMax: 1 << 20)
        let shape: EntityShape = .object([
            "watches": .entity("Watch", key: ["user.uid", "lot.id"])
        ])
        let document: JSONValue = ["watches": [["user": ["uid": "u"], "lot": ["id": "a"], "note": "x"]]]
        _ = store.put("W", document, shape)
        #expect(store.document("W") == document)
        #expect(store.entityCount == 1)
    }

    @Test func aRowWithoutItsKeyIsNoRow() {
        var store = StoreMachine(bytesMax: 1 << 20)
        let document: JSONValue = ["lots": [["id": nil, "price": 1], ["price": 2]]]
        _ = store.put("List", document, lots)
        #expect(store.document("List") == document)
        #expect(store.entityCount == 0)
    }

    /// Objects that are no rows depend on what each query selects in them.
    @Test func nestedObjectsAreNotShared() {
        var store = StoreMachine(bytesMax: 1 << 20)
        _ = store.put("A", ["lot": ["id": "a", "seller": ["name": "Ada"]]], lot)
        _ = store.put("B", ["lot": ["id": "a", "seller": ["city": "Oslo"]]], lot)
        #expect(store.document("A") == ["lot": ["id": "a", "seller": ["name": "Ada"]]])
        #expect(store.document("B") == ["lot": ["id": "a", "seller": ["city": "Oslo"]]])
    }

    /// Seed row 25: events by entity.
    @Test func eventsSayWhatHappenedToRows() {
        var store = StoreMachine(bytesMax: 1 << 20)
        #expect(store.put("List", list, lots).events.map(\.kind) == [.created, .created])
        #expect(store.put("List", list, lots).events == [])
        let next: JSONValue = ["lots": [["id": "a", "price": 7]]]
        let events = store.put("List", next, lots).events
        #expect(events.map(\.kind) == [.updated(fields: ["price"]), .deleted])
        #expect(events.map { $0.record.key } == [["a"], ["b"]])
    }

    /// A read that was asked for before something newer came does not undo it.
    @Test func aSlowReadKeepsWhatCameMeanwhile() {
        var store = StoreMachine(bytesMax: 1 << 20)
        _ = store.put("List", list, lots)
        var asOf = store.uses
        _ = store.put("One", ["lot": ["id": "a", "price": 9]], lot)
        let slow: JSONValue = ["lots": [["id": "a", "price": 3, "text": "x"], ["id": "b", "price": 4]]]
        let outcome = store.write(ResultKey("List"), slow, lots, revision: "1", atMs: 0, asOf: asOf)
        #expect(store.document("List") == ["lots": [["id": "a", "price": 9, "text": "x"], ["id": "b", "price": 4]]])
        #expect(outcome.events.map(\.kind) == [.updated(fields: ["text"]), .updated(fields: ["price"])])
        // The same result came meanwhile.
        asOf = store.uses
        _ = store.put("List", ["lots": [["id": "a", "price": 5]]], lots)
        let none = store.write(ResultKey("List"), slow, lots, revision: "1", atMs: 0, asOf: asOf)
        #expect(none.changed.isEmpty && none.events.isEmpty && none.saved.isEmpty)
        #expect(store.document("List") == ["lots": [["id": "a", "price": 5]]])
        // Reading changes nothing.
        asOf = store.uses
        _ = store.document("List")
        _ = store.write(ResultKey("List"), list, lots, revision: "1", atMs: 0, asOf: asOf)
        #expect(store.document("List") == list)
    }

    /// A file's content is older than any answer.
    @Test func aSlowReadReplacesWhatWasLoadedMeanwhile() {
        var former = StoreMachine(bytesMax: 1 << 20)
        let saved = former.put("List", list, lots).saved[0]
        var store = StoreMachine(bytesMax: 1 << 20)
        let asOf = store.uses
        store.load(
            SavedResult(
                key: saved.key, revision: "1", fetchedAtMs: 0, tree: saved.tree, rows: saved.rows,
                records: saved.records))
        let newer: JSONValue = ["lots": [["id": "a", "price": 3]]]
        _ = store.write(ResultKey("List"), newer, lots, revision: "1", atMs: 0, asOf: asOf)
        #expect(store.document("List") == newer)
    }

    @Test func anyChangeOfRowsMayConcernAPartialResult() {
        var selection = StoreSelection()
        #expect(!selection.mayConcern(partialResultOf: "List"))
        selection.operations = ["Other"]
        #expect(!selection.mayConcern(partialResultOf: "List"))
        selection.operations = ["List"]
        #expect(selection.mayConcern(partialResultOf: "List"))
        selection.operations = []
        selection.entities = [EntityID(type: "Lot", key: ["z"])]
        #expect(selection.mayConcern(partialResultOf: "List"))
    }

    @Test func anotherRevisionIsNotRead() {
        var store = StoreMachine(bytesMax: 1 << 20)
        _ = store.put("List", list, lots)
        #expect(store.read(ResultKey("List"), revision: "2") == nil)
    }

    @Test func theLeastUsedResultGoesFirstAndFollowedOnesStay() {
        var store = StoreMachine(bytesMax: 20_000)
        store.follow(ResultKey("R0"))
        for number in 0..<100 {
            let rows = (0..<10).map { JSONValue.object(["id": .string("\(number)-\($0)"), "price": 1]) }
            _ = store.put("R\(number)", ["lots": .array(rows)], lots)
            _ = store.document("R1")
        }
        #expect(store.bytes <= 20_000)
        #expect(store.document("R0") != nil && store.document("R1") != nil && store.document("R99") != nil)
        #expect(store.document("R2") == nil)
        #expect(store.entityCount == 10 * store.resultCount)
    }

    // MARK: Optimistic changes

    @Test func anOptimisticChangeIsShownAndUndone() {
        var store = StoreMachine(bytesMax: 1 << 20)
        _ = store.put("List", list, lots)
        let change = OptimisticChange(type: "Lot", key: ["a"], fields: ["price": 5])
        #expect(store.apply("m", [change]).changed == [ResultKey("List")])
        #expect(store.document("List")?["lots"]?[0]?["price"] == 5)
        // A result of the server that does not know the mutation yet does not undo it.
        _ = store.put("List", ["lots": [["id": "a", "price": 2], ["id": "b", "price": 2]]], lots)
        #expect(store.document("List")?["lots"]?[0]?["price"] == 5)
        #expect(store.revert("m").changed == [ResultKey("List")])
        #expect(store.document("List")?["lots"]?[0]?["price"] == 2)
    }

    @Test func aCommittedChangeStaysUntilTheServerSaysOtherwise() {
        var store = StoreMachine(bytesMax: 1 << 20)
        _ = store.put("List", list, lots)
        _ = store.apply("m", [OptimisticChange(type: "Lot", key: ["a"], fields: ["price": 5])])
        _ = store.commit("m")
        #expect(store.document("List")?["lots"]?[0]?["price"] == 5)
        _ = store.put("List", list, lots)
        #expect(store.document("List") == list)
    }

    /// A bid is applied, its answer lost, and a higher one comes before the answer is repeated.
    @Test func aRowThatTheServerSentSinceStaysAsItIs() {
        var store = StoreMachine(bytesMax: 1 << 20)
        _ = store.put("List", list, lots)
        _ = store.apply("m", [OptimisticChange(type: "Lot", key: ["a"], fields: ["price": 100])])
        // The mutation is not sent yet, so this cannot contain what it changes.
        _ = store.put("List", ["lots": [["id": "a", "price": 50], ["id": "b", "price": 2]]], lots)
        store.sending("m")
        var other = store
        #expect(other.commit("m").saved.first?.records.values.first?.fields["price"] == 100)
        #expect(other.document("List")?["lots"]?[0]?["price"] == 100)
        _ = store.put("One", ["lot": ["id": "a", "price": 105]], lot)
        store.sending("m")
        let outcome = store.commit("m")
        #expect(outcome.saved == [] && outcome.changed == [ResultKey("List"), ResultKey("One")])
        #expect(store.document("List")?["lots"]?[0]?["price"] == 105)
        // A read that was asked for before the mutation was sent may be older.
        let asOf = other.uses
        _ = other.apply("n", [OptimisticChange(type: "Lot", key: ["b"], fields: ["price": 9])])
        other.sending("n")
        _ = other.write(ResultKey("List"), list, lots, revision: "1", atMs: 0, asOf: asOf)
        _ = other.commit("n")
        #expect(other.document("List")?["lots"]?[1]?["price"] == 9)
        // What was not applied when it was sent is not contained.
        _ = store.apply("o", [OptimisticChange(type: "Lot", key: ["b"], fields: ["price": 9])])
        store.sending("o")
        store.unsent("o")
        _ = store.put("List", list, lots)
        store.sending("o")
        _ = store.commit("o")
        #expect(store.document("List")?["lots"]?[1]?["price"] == 9)
    }

    @Test func anOptimisticDeletionHidesTheRow() {
        var store = StoreMachine(bytesMax: 1 << 20)
        _ = store.put("List", list, lots)
        _ = store.put("One", ["lot": ["id": "a", "price": 1]], lot)
        _ = store.apply("m", [OptimisticChange(type: "Lot", key: ["a"], fields: nil)])
        #expect(store.document("List") == ["lots": [["id": "b", "price": 2]]])
        #expect(store.document("One") == ["lot": nil])
        _ = store.commit("m")
        #expect(store.document("List") == ["lots": [["id": "b", "price": 2]]])
        // The server still has it.
        _ = store.put("List", list, lots)
        #expect(store.document("List") == list)
    }

    /// Events tell what is shown, also of the app's own mutations.
    @Test func eventsOfExpectedChangesAreThoseThatAreSeen() {
        var store = StoreMachine(bytesMax: 1 << 20)
        _ = store.put("List", list, lots)
        let price = OptimisticChange(type: "Lot", key: ["a"], fields: ["price": 5])
        var events = store.apply("m1", [price]).events
        #expect(events.map(\.kind) == [.updated(fields: ["price"])])
        #expect(events.first?.record.fields == ["id": "a", "price": 5])
        // The server's value is hidden, its other fields are not.
        events = store.put("One", ["lot": ["id": "a", "price": 2, "text": "new"]], lot).events
        #expect(events.map(\.kind) == [.updated(fields: ["text"])])
        #expect(events.first?.record.fields == ["id": "a", "price": 5, "text": "new"])
        #expect(store.apply("same", [price]).events == [], "nothing else is seen")
        #expect(store.revert("same").events == [])
        #expect(store.commit("m1").events == [], "it was told")
        // The later of two is answered first.
        _ = store.apply("m2", [OptimisticChange(type: "Lot", key: ["a"], fields: ["price": 6])])
        _ = store.apply("m3", [OptimisticChange(type: "Lot", key: ["a"], fields: ["price": 7])])
        events = store.commit("m3").events
        #expect(events.map(\.kind) == [.updated(fields: ["price"])] && events[0].record.fields["price"] == 6)
        events = store.revert("m2").events
        #expect(events.map(\.kind) == [.updated(fields: ["price"])] && events[0].record.fields["price"] == 7)
    }

    @Test func anExpectedDeletionIsToldOnce() {
        var store = StoreMachine(bytesMax: 1 << 20)
        _ = store.put("List", list, lots)
        let deletion = OptimisticChange(type: "Lot", key: ["a"], fields: nil)
        var events = store.apply("m", [deletion]).events
        #expect(events.map(\.kind) == [.deleted] && events[0].record.fields == ["id": "a", "price": 1])
        #expect(store.put("List", ["lots": [["id": "a", "price": 3], ["id": "b", "price": 2]]], lots).events == [])
        events = store.revert("m").events
        #expect(events.map(\.kind) == [.created] && events[0].record.fields == ["id": "a", "price": 3])
        #expect(store.apply("n", [deletion]).events.map(\.kind) == [.deleted])
        #expect(store.commit("n").events == [])
        #expect(store.put("List", ["lots": [["id": "b", "price": 2]]], lots).events == [], "it is gone already")
        // Deleted and, as the server says, not.
        _ = store.put("List", list, lots)
        _ = store.apply("o", [deletion])
        _ = store.commit("o")
        #expect(store.put("List", list, lots).events.map(\.kind) == [.created])
    }

    @Test func changesOfOneRowStack() {
        var store = StoreMachine(bytesMax: 1 << 20)
        _ = store.put("List", list, lots)
        _ = store.apply("m1", [OptimisticChange(type: "Lot", key: ["a"], fields: ["price": 5])])
        _ = store.apply("m2", [OptimisticChange(type: "Lot", key: ["a"], fields: ["price": 6])])
        #expect(store.document("List")?["lots"]?[0]?["price"] == 6)
        _ = store.revert("m2")
        #expect(store.document("List")?["lots"]?[0]?["price"] == 5)
    }

    @Test func treesSurviveTheirStoredForm() {
        let document: JSONValue = ["lots": [["id": "a", "seller": ["name": "x"], "tags": ["p", "q"]]], "n": nil]
        let tree = NormalizedResult(document, lots).tree
        #expect(ResultTree(stored: tree.stored) == tree)
        #expect(ResultTree(stored: ["x"]) == nil)
    }
}
