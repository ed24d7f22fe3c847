import Sessions
import Testing

/// A slow client learns that its wait is over behind the results that it waits for.
@Suite struct HeldWaitsTests {
    @Test func aWaitIsHeldUntilTheResultsBeforeItAreWritten() {
        var waits = HeldWaits()
        waits.hold("w", behind: ["1", "2"])
        waits.hold("v", behind: ["2"])
        #expect(waits.written("1") == [] && waits.written("3") == [])
        #expect(waits.written("2") == ["w", "v"] && waits.isEmpty)
        waits.hold("w", behind: ["1"])
        waits.removeAll()
        #expect(waits.written("1") == [])
    }
}
