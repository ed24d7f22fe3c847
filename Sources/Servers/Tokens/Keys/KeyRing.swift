/// The current key set and the decision when to fetch it again. Pure: the verifier fetches.
///
/// A fetch is due when there is no key set, when it is old, or when a token names an unknown key (the issuer may have
/// rotated its keys). Fetches start at least `gapMs` apart, whatever the reason.
struct KeyRing {
    enum Answer {
        case keys([VerificationKey])
        /// Fetch the keys, then retry.
        case fetch
        case unknownKey
        /// No fetch has succeeded so far, and it is too early for another.
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
        // One caller refreshes an old set; the others continue with it.
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

    /// Records the result of a fetch; returns whether the keys changed.
    mutating func finished(_ keySet: KeySet?, nowMs: Int64) -> Bool {
        isFetching = false
        guard let keySet else { return false }
        let isChanged = keySet.source != self.keySet?.source
        self.keySet = keySet
        fetchedAtMs = nowMs
        return isChanged
    }
}
