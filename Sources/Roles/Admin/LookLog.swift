import LiveModel

/// Which looks at users' data leave a line in the audit log: a screen that asks again and again is one look. Pure.
struct LookLog: Sendable {
    /// A request within this time after the last one for the same data belongs to the same look.
    static let pauseMs: Int64 = 30_000
    /// A look that goes on leaves a further line after this time.
    static let againMs: Int64 = 600_000
    /// The looks known at a time; beyond them each request leaves a line.
    static let looksMax = 512

    private struct Look {
        var loggedAtMs: Int64
        var askedAtMs: Int64
        var unlogged = 0
    }

    private var looks: [Digest: Look] = [:]

    /// Decides whether a request leaves a line.
    /// - Parameter look: the digest of who looks at which data.
    /// - Returns: the number of requests of the look since its last line; nil if this one leaves none.
    mutating func asked(_ look: Digest, nowMs: Int64) -> Int? {
        if var known = looks[look], nowMs - known.askedAtMs < Self.pauseMs {
            known.askedAtMs = nowMs
            defer { looks[look] = known }
            guard nowMs - known.loggedAtMs >= Self.againMs else {
                known.unlogged += 1
                return nil
            }
            defer { (known.loggedAtMs, known.unlogged) = (nowMs, 0) }
            return known.unlogged
        }
        if looks.count >= Self.looksMax { looks = looks.filter { nowMs - $0.value.askedAtMs < Self.pauseMs } }
        if looks.count < Self.looksMax { looks[look] = Look(loggedAtMs: nowMs, askedAtMs: nowMs) }
        return 0
    }
}
