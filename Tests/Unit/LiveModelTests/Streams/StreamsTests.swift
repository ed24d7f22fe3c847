import LiveModel
import Testing

@Suite struct StreamIDTests {
    @Test(arguments: ["0-0", "1732000000123-4", "18446744073709551615-18446744073709551615"])
    func streamIDsSurviveARoundTrip(text: String) {
        #expect(StreamID(text)?.description == text)
    }

    @Test(arguments: [
        "", "1", "-", "1-", "-1", "1-2-3", " 1-2", "+1-2", "1-2 ", "18446744073709551616-0", "0x1-2", "1-ä",
    ])
    func otherTextIsNone(text: String) {
        #expect(StreamID(text) == nil)
    }

    @Test func streamIDsAreOrderedAndHaveSuccessors() {
        let ids = [
            StreamID.zero, StreamID(ms: 0, sequence: 1), StreamID(ms: 1, sequence: 0), StreamID(ms: 1, sequence: 9),
            .max,
        ]
        #expect(ids.shuffled().sorted() == ids)
        #expect(StreamID(ms: 1, sequence: .max).successor == StreamID(ms: 2, sequence: 0))
        #expect(StreamID.zero.successor == StreamID(ms: 0, sequence: 1) && StreamID.max.successor == nil)
    }
}

@Suite struct PositionTests {
    @Test func positionsSurviveARoundTrip() {
        #expect(ModelFixture.position.description == "1732000000000.17.1732000000123-4")
        #expect(Position(ModelFixture.position.description) == ModelFixture.position)
        let placed = ModelFixture.position.at(placement: 5)
        #expect(placed.description == "1732000000000.17.1732000000123-4.5")
        #expect(Position(placed.description) == placed)
        #expect(!placed.isOrdered(with: ModelFixture.position) && placed.isOrdered(with: placed))
    }

    @Test(arguments: [
        "", "1", "1.2", "1.2.3", "1.2.3-4.0", "1.2.3-4.x", "1.2.3-4.5.6", ".2.3-4", "1..3-4", "-1.2.3-4", "1.2.x-4",
        "a.2.3-4",
    ])
    func otherTextIsNone(text: String) {
        #expect(Position(text) == nil)
    }

    @Test func theEpochDecidesThenTheRun() {
        func position(_ epoch: UInt64, _ run: UInt64, _ ms: UInt64) -> Position {
            Position(epoch: epoch, run: run, id: StreamID(ms: ms, sequence: 0))
        }
        #expect(position(1, 9, 9) < position(2, 1, 1))
        #expect(position(2, 1, 9) < position(2, 2, 1))
        #expect(!(position(2, 2, 1) < position(2, 2, 9)))
    }
}
