import LiveModel

/// A cache of verified tokens by the digest of their text. It has two generations: when the young one is full it
/// replaces the old one, so tokens in use stay.
struct TokenCache {
    /// The limit on the tokens' text in both generations, in bytes.
    let bytesMax: Int
    private var young: [Digest: (token: VerifiedToken, bytes: Int)] = [:]
    private var old: [Digest: (token: VerifiedToken, bytes: Int)] = [:]
    private var youngBytes = 0

    init(bytesMax: Int) {
        self.bytesMax = bytesMax
    }

    var count: Int { young.count + old.count }

    mutating func find(_ digest: Digest) -> VerifiedToken? {
        if let entry = young[digest] { return entry.token }
        guard let entry = old.removeValue(forKey: digest) else { return nil }
        insert(digest, entry)
        return entry.token
    }

    mutating func insert(_ token: VerifiedToken, for digest: Digest, bytes: Int) {
        old[digest] = nil
        insert(digest, (token, bytes))
    }

    private mutating func insert(_ digest: Digest, _ entry: (token: VerifiedToken, bytes: Int)) {
        guard entry.bytes <= bytesMax / 2 else { return }
        if youngBytes + entry.bytes > bytesMax / 2 {
            old = young
            young = [:]
            youngBytes = 0
        }
        if young.updateValue(entry, forKey: digest) == nil { youngBytes += entry.bytes }
    }

    mutating func remove(_ digest: Digest) {
        if let entry = young.removeValue(forKey: digest) { youngBytes -= entry.bytes }
        old[digest] = nil
    }

    mutating func removeAll() {
        young = [:]
        old = [:]
        youngBytes = 0
    }
}
