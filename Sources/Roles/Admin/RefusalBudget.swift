/// How many lines refused requests may write into the audit log, so that whoever reaches the port cannot fill it. Pure.
///
/// A run of refusals begins with `linesMax` lines; then there is one each `refillMs`, which tells how many came without.
struct RefusalBudget: Sendable {
    static let linesMax = 20
    static let refillMs: Int64 = 3_000

    private var lines = Self.linesMax
    private var refilledMs: Int64
    private var unlogged = 0

    init(nowMs: Int64) {
        refilledMs = nowMs
    }

    /// - Returns: how many came before this one without a line since the last line; nil: this one gets none either.
    mutating func refused(nowMs: Int64) -> Int? {
        let due = max(0, nowMs - refilledMs) / Self.refillMs
        if due >= Int64(Self.linesMax - lines) {
            lines = Self.linesMax
            refilledMs = nowMs
        } else {
            lines += Int(due)
            refilledMs += due * Self.refillMs
        }
        guard lines > 0 else {
            unlogged += 1
            return nil
        }
        lines -= 1
        defer { unlogged = 0 }
        return unlogged
    }
}
