/// The current key set and when to fetch it anew. Decides only; the verifier fetches.
///
/// A fetch is due when there is none yet, when the set is old, or when a token names an unknown key (the issuer may have
/// changed keys). Whatever the reason, fetches start at least `gapMs` apart.
struct KeyRing {
    enum Answer {
        case keys([VerificationKey])
        /// Fetch first, then ask again. Keys that serve until then are in it.
        case fetch
        case unknownKey
        /// Nothing was ever fetched, and it is too early to try again.
        case noKeys
    }

    let refreshMs: Int
    let gapMs: Int
    private(set) var keySet: KeySet?
    private var fetchedAtMs: Int64?
    private var triedAtMs: Int64?
    private var isFetching = false

    init(refreshMs: Int, gapMs: Int) {
        self.refreshMs = refreshMs
        self.gapMs = gapMs
    }

    func answer(_ token: SignedToken, nowMs: Int64) -> Answer {
        guard let keySet else { return isFetching || mayFetch(nowMs) ? .fetch : .noKeys }
        let candidates = keySet.candidates(for: token)
        guard !candidates.isEmpty else { return isFetching || mayFetch(nowMs) ? .fetch : .unknownKey }
        // One caller renews an old set, the others go on with it.
        let isOld = nowMs - (fetchedAtMs ?? nowMs) >= Int64(refreshMs)
        return isOld && !isFetching && mayFetch(nowMs) ? .fetch : .keys(candidates)
    }

    private func mayFetch(_ nowMs: Int64) -> Bool {
        triedAtMs.map { nowMs - $0 >= Int64(gapMs) } ?? true
    }

    mutating func started(nowMs: Int64) {
        isFetching = true
        triedAtMs = nowMs
    }

    /// True if the keys are other ones than before.
    mutating func finished(_ keySet: KeySet?, nowMs: Int64) -> Bool {
        isFetching = false
        guard let keySet else { return false }
        let isChanged = keySet.source != self.keySet?.source
        self.keySet = keySet
        fetchedAtMs = nowMs
        return isChanged
    }
}
