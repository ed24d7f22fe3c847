import JSON
import LiveModel
import Testing

/// Row changes in events.
@Suite struct RowChangeTests {
    private static func event(_ rows: RowChanges?) -> MutationEvent {
        MutationEvent(
            id: "e", operation: OperationReference(connector: "c", operation: "M"), variables: [:], auth: .null,
            keysWritten: [], rows: rows, traceID: "t", committedAtMs: 1)
    }

    @Test func changesSurviveTheEncoding() throws {
        let rows = RowChanges([
            RowChange(table: "bid", before: nil, after: ["lotId": "6f", "n": 1, "open": true, "by": .null]),
            RowChange(table: "bid", before: ["n": 1], after: nil),
            RowChange(table: "lot", before: [:], after: ["n": 2], changed: ["n", "title"]),
            RowChange(table: "bid", before: ["n": 1], after: nil, isOfFollowers: true),
            .anything(in: "user"),
        ])
        for rows in [rows, RowChanges(), nil] {
            let event = Self.event(rows)
            #expect(try MutationEvent(encoded: event.encoded) == event)
        }
    }

    /// An event of a later version must not be lost because its changes have more to say.
    @Test(arguments: [
        #"{"bid":1}"#, "7", #"[["bid",null,{},null,1]]"#, #"[["bid",7,null,null]]"#, #"[["bid",null,{},[1]]]"#, "[1]",
    ])
    func changesThatCannotBeReadMayBeAny(rows: String) throws {
        let encoded = String(decoding: Self.event(nil).encoded, as: UTF8.self)
        let bytes = Array((encoded.dropLast() + #","rows":\#(rows)}"#).utf8)
        #expect(try MutationEvent(encoded: bytes) == Self.event(nil))
    }

    @Test func equalChangesAreToldOnce() {
        let rows = RowChanges(
            (0..<9).map { RowChange(table: "bid", before: nil, after: ["n": .int($0), "lotId": .int($0 % 2)]) })
        #expect(
            rows.telling(["bid": RecordedFields(compared: ["lotId"])]).all == [
                RowChange(table: "bid", before: nil, after: ["lotId": 0]),
                RowChange(table: "bid", before: nil, after: ["lotId": 1]),
            ])
        #expect(rows.telling([:]).all == [RowChange(table: "bid", before: nil, after: [:])])
        var any = RowChanges([.anything(in: "bid")])
        any.append(contentsOf: rows.all)
        #expect(any.all == [.anything(in: "bid")])
    }

    @Test func manyChangesOfATableAreToldAsAnyOfIts() {
        var rows = RowChanges([RowChange(table: "lot", before: nil, after: ["n": 0])])
        for number in 0..<RowChanges.max {
            rows.append(RowChange(table: "bid", before: nil, after: ["n": .int(Int64(number))]))
        }
        #expect(rows.all == [RowChange(table: "lot", before: nil, after: ["n": 0]), .anything(in: "bid")])
        #expect(rows.all[1].isAnything && !rows.all[0].isAnything)
        #expect(rows.adding(nil) == nil)
        #expect(rows.adding(RowChanges([.anything(in: "x")]))?.all.count == 3)
    }
}
