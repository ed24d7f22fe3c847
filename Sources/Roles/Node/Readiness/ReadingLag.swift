/// How far a worker's reading is behind, as told to Prometheus: honest also while nobody can be asked. Pure: told of
/// answers and of the time.
///
/// An answer counts for `answerLastsMs`, the time in which the next ones should have come; after that the worker is
/// behind by all the time since it, besides what it was behind then.
struct ReadingLag: Sendable {
    let answerLastsMs: Int64
    private var behindMs: Int64 = 0
    private var answeredMs: Int64

    /// Nothing was to be read yet.
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
