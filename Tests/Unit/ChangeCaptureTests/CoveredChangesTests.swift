import ChangeCapture
import JSON
import LiveModel
import SchemaModel
import Testing

@Suite struct CoveredChangesTests {
    private static func change(_ before: JSONObject?, _ after: JSONObject?, _ changed: [String]? = nil) -> RowChange {
        RowChange(table: "bid", before: before, after: after, changed: changed)
    }

    private func uncovered(_ changes: [RowChange], by own: [RowChange], derived: Set<String> = []) -> [RowChange] {
        let tables = ["bid", "note"].map { name in
            Table(
                typeName: name, name: name, singular: name, plural: name + "s",
                columns: [Column(field: "id", name: "id", type: ColumnType(.int), isNullable: false)], key: ["id"])
        }
        let captured = CapturedTables(namespace: "public", tables: tables, recordedFields: [:], derived: derived)
        return CoveredChanges.uncovered(RowChanges(changes), by: RowChanges(own), captured).all
    }

    private let fromLog = change(["id": 1], ["id": 1, "lot": "b"])
    private let own = change(["id": 1, "lot": "a"], ["id": 1, "lot": "b"], ["lot"])

    @Test func anEventCoversItsOwnChanges() {
        #expect(uncovered([fromLog], by: [own]) == [])
        #expect(uncovered([Self.change(nil, ["id": 1, "lot": "b"])], by: [Self.change(nil, ["lot": "b"])]) == [])
    }

    @Test func anEventThatMayBeAnythingCoversEverything() {
        #expect(uncovered([fromLog, fromLog, .anything(in: "bid")], by: [.anything(in: "bid")]) == [])
    }

    @Test func changesOfTriggersAndCascadesAreForwarded() {
        let other = RowChange(table: "note", before: ["id": 1], after: nil)
        #expect(uncovered([fromLog, other], by: [own]) == [other])
        #expect(uncovered([fromLog], by: []) == [fromLog])
        let moved = Self.change(["id": 1], ["id": 1, "lot": "c"])
        #expect(uncovered([fromLog, moved], by: [own]) == [moved])
        #expect(uncovered([Self.change(["id": 1], nil)], by: [own]) == [Self.change(["id": 1], nil)])
    }

    @Test func aSecondChangeOfARowWithoutItsFormerValuesIsForwarded() {
        #expect(uncovered([fromLog, fromLog], by: [own]) == [fromLog])
    }

    /// An event tells rows that follow a deleted one by their reference, whether there are any or not.
    @Test func followersAccountForNoOtherRow() {
        var followers = Self.change(["lot": "a"], nil)
        followers.isOfFollowers = true
        #expect(uncovered([Self.change([:], nil)], by: [followers]) == [Self.change([:], nil)])
        #expect(uncovered([Self.change(["lot": "b"], nil)], by: [followers]) == [Self.change(["lot": "b"], nil)])
        let rows = [1, 2].map { Self.change(["id": .int($0), "lot": "a"], nil) }
        #expect(uncovered(rows, by: [followers]) == [])
    }

    @Test func changedFieldsThatTheEventLacksAreForwarded() {
        let both = Self.change(["id": 1, "lot": "a"], ["id": 1, "lot": "b"], ["lot", "amount"])
        #expect(uncovered([both], by: [own]) == [both])
    }

    /// A trigger may set another field before the row is stored.
    @Test func anUpdateOfATableWithTriggersMayHaveChangedMoreFields() {
        #expect(uncovered([fromLog], by: [own], derived: ["bid"]) == [fromLog])
        let told = Self.change(["id": 1, "lot": "a"], ["id": 1, "lot": "b"], ["lot"])
        #expect(uncovered([told], by: [own], derived: ["bid"]) == [])
        let inserted = Self.change(nil, ["id": 1])
        #expect(uncovered([inserted], by: [inserted], derived: ["bid"]) == [])
    }

    @Test func aTableOfWhichAnyRowMayHaveChangedIsForwarded() {
        #expect(uncovered([.anything(in: "bid")], by: [own]) == [.anything(in: "bid")])
    }

    @Test func nullIsNotTheTextNull() {
        let null = Self.change(nil, ["lot": nil])
        #expect(uncovered([null], by: [Self.change(nil, ["lot": "null"])]) == [null])
    }
}
