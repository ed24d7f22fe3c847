import Testing

@testable import RoleMachines

@Suite struct ReadPaceTests {
    @Test func readsThatAreFarApartBeginAtOnce() {
        var pace = ReadPace()
        #expect(pace.read(nowMs: 0))
        #expect(pace.read(nowMs: 5))
        #expect(!pace.read(nowMs: 9))
        // Each is compared with the one before.
        #expect(!pace.read(nowMs: 13))
        #expect(pace.read(nowMs: 100))
    }
}
