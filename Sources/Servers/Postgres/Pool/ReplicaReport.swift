/// A read replica as operators see it. A pure value.
package struct ReplicaReport: Sendable, Hashable {
    package enum State: String, Sendable, CaseIterable {
        /// It had replayed what the primary had written when it was asked: a re-run would have run on it.
        case used
        /// It had not, within the time that a re-run waits for it.
        case behind
        /// It follows another timeline than the primary.
        case otherTimeline
        /// It takes writes itself, for example after a promotion.
        case notStandby
        case notConnected
        /// The replica or the primary did not say its position.
        case unknown
    }

    /// Host and port.
    package let address: String
    package let state: State
    /// The bytes of WAL that it has not replayed; nil where no position is known.
    package let lagBytes: Int64?
    /// The milliseconds since the commit of the last transaction that it replayed; nil unless it is behind.
    package let lagMs: Int64?

    package init(address: String, state: State, lagBytes: Int64? = nil, lagMs: Int64? = nil) {
        self.address = address
        self.state = state
        self.lagBytes = lagBytes
        self.lagMs = lagMs
    }

    /// A replica's answer to `PostgresReplicas.position`.
    /// - Parameters:
    ///   - isStandby: nil if it did not answer.
    ///   - lagBytes: nil before it has replayed anything.
    init(address: String, isStandby: Bool?, isSameTimeline: Bool, lagBytes: Int64?, lagMs: Int64?) {
        let state: State =
            switch (isStandby, isSameTimeline, lagBytes) {
            case (nil, _, _): .unknown
            case (false?, _, _): .notStandby
            case (true?, false, _): .otherTimeline
            case (true?, true, nil): .behind
            case (true?, true, let bytes?): bytes > 0 ? .behind : .used
            }
        self.init(
            address: address, state: state,
            lagBytes: [.used, .behind].contains(state) ? lagBytes.map { max(0, $0) } : nil,
            lagMs: state == .behind ? lagMs.map { max(0, $0) } : nil)
    }
}
