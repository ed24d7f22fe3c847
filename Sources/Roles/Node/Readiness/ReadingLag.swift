/// The read lag of a worker as reported to Prometheus; it stays meaningful while the broker does not answer. Pure:
/// answers and the time are arguments.
///
/// An answer is valid for `answerLastsMs`, within which the next one is expected. After that, the time since the answer
/// is added to the lag that it reported.
struct ReadingLag: Sendable {
    let answerLastsMs: Int64
    private var behindMs: Int64 = 0
    private var answeredMs: Int64

    /// Starts without a lag.
    init(answerLastsMs: Int64, nowMs: Int64) {
        self.answerLastsMs = answerLastsMs
        answeredMs = nowMs
    }

    mutating func answered(behindMs: Int64, nowMs: Int64) {
        self.behindMs = behindMs
        answeredMs = max(answeredMs, nowMs)
    }

    func seconds(nowMs: Int64) -> Double {
        let silentMs = nowMs - answeredMs
        return Double(behindMs + (silentMs > answerLastsMs ? silentMs : 0)) / 1_000
    }
}
