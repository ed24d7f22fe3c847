import Testing

@testable import RoleMachines

@Suite struct ReadPaceTests {
    @Test func readsThatAreFarApartBeginAtOnce() {
        var pace = ReadPace()
        // Each is compared with the one before.
        let beginAtOnce = [0, 5, 9, 13, 100].map { pace.read(nowMs: $0) }
        #expect(beginAtOnce == [true, true, false, false, true])
    }
}
