import Testing

@testable import GRPC

@Suite struct GRPCTimeoutTests {
    @Test(arguments: [
        ("1H", 3_600_000), ("2M", 120_000), ("10S", 10_000), ("250m", 250), ("1500u", 2), ("1n", 1), ("0S", 0),
        ("0n", 0), ("99999999H", 86_400_000), ("00000001S", 1_000),
    ]) func areReadInTheirUnits(text: String, ms: Int) {
        #expect(GRPCTimeout.milliseconds(text) == .after(ms: Int64(ms)))
    }

    @Test(arguments: ["", "S", "10", "10s", "-1S", "+1S", "1.5S", "123456789S", "1 S", "S1", "١S"])
    func otherTimeoutsAreMalformed(text: String) {
        #expect(GRPCTimeout.milliseconds(text) == .malformed)
    }

    @Test func withoutOneThereIsNoEnd() { #expect(GRPCTimeout.milliseconds(nil) == .none) }
}
