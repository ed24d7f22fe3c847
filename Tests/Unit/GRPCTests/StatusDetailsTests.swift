import Testing

@testable import GRPC

@Suite struct StatusDetailsTests {
    /// The expected texts are those of protobuf's and Python's own encoders.
    @Test(
        arguments: [
            (16, "no", "CBASAm5v"), (5, "not", "CAUSA25vdA"), (3, "", "CAMSAA"), (5, "ü", "CAUSAsO8"),
            (200, "a", "CMgBEgFh"),
        ])
    func encodesAStatus(_ code: Int, _ message: String, _ expected: String) {
        #expect(StatusDetails.encoded(code, message) == expected)
    }
}
