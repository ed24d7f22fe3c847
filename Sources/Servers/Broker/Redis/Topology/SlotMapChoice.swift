/// The slot map of a Redis Cluster as this client believes it: which nodes are asked for it, and which answer is
/// trusted.
struct SlotMapChoice {
    typealias Endpoint = RedisConfiguration.Endpoint

    /// The pipeline of a node without slots is kept this long after its last use: a slot may be moving there.
    private static let pipelineIdleMs = 5_000

    private(set) var slots = SlotMap()
    /// The reason that the last node asked was not trusted; empty if it was.
    private(set) var failure = RedisConnection.Failure(reason: "not queried yet")

    /// The meaning of an answer.
    enum News: Equatable {
        /// Other slots; `isFailover`: a primary is gone and another node has taken over its slots.
        case changed(isFailover: Bool)
        case unchanged
        /// The node is not trusted; new if the reason differs from the last one.
        case refused(reason: String, isNew: Bool)
    }

    /// Returns the nodes to ask, one after another until one is trusted.
    func candidates(seeds: [Endpoint]) -> [Endpoint] {
        var asked: Set<Endpoint> = []
        return (slots.primaries + slots.replicas + seeds).filter { asked.insert($0).inserted }
    }

    /// Takes the replies of one node to `CLUSTER INFO` and `CLUSTER SLOTS`. A node that is down, or cut off from the
    /// majority, is not trusted.
    mutating func heard(info: RedisValue, slots reply: RedisValue, from endpoint: Endpoint) -> News {
        guard info.text?.contains("cluster_state:ok") == true else {
            return failed(endpoint, RedisConnection.Failure(reason: "cluster_state is not ok"))
        }
        guard let heard = SlotMap(reply, asked: endpoint), !heard.isEmpty else {
            return failed(endpoint, RedisConnection.Failure(reason: "malformed reply to CLUSTER SLOTS"))
        }
        defer { slots = heard }
        failure = RedisConnection.Failure(reason: "")
        return slots == heard ? .unchanged : .changed(isFailover: slots.isFailover(to: heard))
    }

    /// Notes that a node did not answer.
    mutating func failed(_ endpoint: Endpoint, _ failure: RedisConnection.Failure) -> News {
        let reason = "\(endpoint): \(failure.reason)"
        defer { self.failure = RedisConnection.Failure(reason: reason, isFinal: failure.isFinal) }
        return .refused(reason: failure.reason, isNew: self.failure.reason != reason)
    }

    /// Applies a node's redirection of one slot.
    /// - Returns: whether that is a change.
    mutating func moved(_ slot: Int, to endpoint: Endpoint) -> Bool {
        guard slots.owner(of: slot) != endpoint else { return false }
        slots.move(slot, to: endpoint)
        return true
    }

    /// Whether to retire the pipeline of a node: it has no slots, and is not connected or not used any more.
    func retires(_ endpoint: Endpoint, isConnected: Bool, usedNs: UInt64, nowNs: UInt64) -> Bool {
        guard !slots.primaries.contains(endpoint) else { return false }
        return !isConnected || nowNs > addMs(Self.pipelineIdleMs, to: usedNs)
    }
}
