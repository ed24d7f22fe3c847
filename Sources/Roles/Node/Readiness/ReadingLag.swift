/// How far a worker's reading is behind, as Prometheus gets it; truthful even while the broker cannot be asked. Pure:
/// answers and the time are arguments.
///
/// An answer is valid for `answerLastsMs`, in which the next ones should come; after that all the time since it is
/// added to the lag that it reported.
struct ReadingLag: Sendable {
    let answerLastsMs: Int64
    private var behindMs: Int64 = 0
    private var answeredMs: Int64

    /// Begins without a lag.
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
