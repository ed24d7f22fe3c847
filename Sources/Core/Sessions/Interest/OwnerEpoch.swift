/// The epoch that a gateway believes a shard's owner to have.
///
/// The gateway refuses messages with a lower epoch, which come from former owners. It believes a higher epoch at once
/// if that is plausible, not far above the gateway's clock or the believed epoch: new epochs follow the database's
/// clock or the recorded ones. An implausible epoch is a sign of a damaged or forged message, or of clocks that differ.
/// If the gateway believed it, it would refuse all messages of the real owner, so it counts only once the database
/// confirms that it is recorded.
///
/// The believed epoch may be wrong, too. The gateway asks the database when it refuses a message while the believed
/// epoch is unconfirmed, and when it refuses messages repeatedly. The answer may lower the epoch.
struct OwnerEpoch: Sendable {
    /// The maximum lead over the gateway's clock that is plausible.
    static let leadMaxMs: Int64 = 3_600_000
    /// The maximum lead over the believed epoch that is plausible; recorded epochs may be above the clock.
    static let stepMax: UInt64 = 1_024
    /// Refused messages in a row that raise doubts.
    static let refusalsMax = 3
    /// The length of a period with nothing but refused messages that raises doubts.
    static let refusedMaxMs: Int64 = 1_000
    /// The minimum time between two questions.
    static let questionGapMs: Int64 = 5_000

    enum Judgement: Sendable {
        case believed
        case refused
        /// Refused, and the database should be asked (`asked`).
        case doubtful
    }

    enum Correction: Sendable, Equatable {
        /// The answer is outdated, or the believed epoch is the recorded one.
        case none
        /// An epoch above the recorded one was refused; reported once.
        case confirmed(refused: UInt64)
        case raised(from: UInt64)
        case lowered(from: UInt64)
    }

    private(set) var believed: UInt64 = 0
    /// Whether the database has named the believed epoch.
    private var isConfirmed = false
    /// Whether to ask the database as soon as the gap between questions permits it.
    private var isInDoubt = false
    private var refusals = 0
    private var refusedSinceMs: Int64 = 0
    /// The last implausible epoch.
    private var implausible: UInt64?
    private var reported: UInt64?
    private var question: (call: UInt64, believed: UInt64)?
    private var nextQuestionMs = Int64.min

    /// Judges a message by its sender's epoch.
    mutating func judge(_ epoch: UInt64, nowMs: Int64) -> Judgement {
        if epoch == believed || epoch > believed && isPlausible(epoch, nowMs: nowMs) {
            if epoch > believed { isConfirmed = false }
            believed = epoch
            refusals = 0
            return .believed
        }
        if refusals == 0 { refusedSinceMs = nowMs }
        refusals = min(refusals + 1, Self.refusalsMax)
        if epoch > believed { implausible = epoch }
        if epoch > believed || !isConfirmed || refusals >= Self.refusalsMax
            || nowMs - refusedSinceMs >= Self.refusedMaxMs
        {
            isInDoubt = true
        }
        return mustAsk(nowMs: nowMs) ? .doubtful : .refused
    }

    /// Whether there are doubts, and the database may be asked.
    func mustAsk(nowMs: Int64) -> Bool { isInDoubt && nowMs >= nextQuestionMs }

    private func isPlausible(_ epoch: UInt64, nowMs: Int64) -> Bool {
        let (limit, isOver) = nowMs.addingReportingOverflow(Self.leadMaxMs)
        return epoch <= (isOver ? .max : UInt64(clamping: limit)) || epoch - believed <= Self.stepMax
    }

    /// Records a question to the database; its answer replaces that of an earlier question.
    mutating func asked(_ call: UInt64, nowMs: Int64) {
        question = (call, believed)
        nextQuestionMs = nowMs + Self.questionGapMs
    }

    /// - Parameter recorded: the newest recorded epoch; nil if the database did not answer.
    mutating func answered(_ call: UInt64, recorded: UInt64?) -> Correction {
        guard let question, question.call == call else { return .none }
        self.question = nil
        guard let recorded else { return .none }
        // An owner that the gateway met meanwhile may have recorded its epoch after the answer was read.
        guard believed == question.believed || recorded > believed else { return .none }
        defer { (refusals, implausible) = (0, nil) }
        (isConfirmed, isInDoubt) = (true, false)
        let former = believed
        believed = recorded
        if recorded > former { return .raised(from: former) }
        if recorded < former { return .lowered(from: former) }
        guard let implausible, implausible != reported else { return .none }
        reported = implausible
        return .confirmed(refused: implausible)
    }
}
