/// A granted lease.
package struct LeaseGrant: Sendable, Hashable {
    package var epoch: UInt64
    /// The first epoch that the current server process granted in its current role, or the first one granted on the
    /// current basis (`Broker.requestLease`) if that is later. Results from earlier epochs may lack entries that a
    /// former server acknowledged and lost in a restart or a failover to a replica that was behind.
    package var trustedEpoch: UInt64
    /// The server that granted the lease (`BrokerState.serverID`).
    package var server: String
    /// The time since that server first granted this lease; 0: just now. An earlier owner that only a former server (or
    /// deleted data) knew may not have noticed yet that it lost the lease.
    package var knownForMs: Int64

    /// - Parameters:
    ///   - serverEpoch: the first epoch that this server granted.
    ///   - basisEpoch: the first epoch granted on the current basis.
    package init(epoch: UInt64, serverEpoch: UInt64, basisEpoch: UInt64, server: String, knownForMs: Int64) {
        self.epoch = epoch
        self.trustedEpoch = max(serverEpoch, basisEpoch)
        self.server = server
        self.knownForMs = max(0, knownForMs)
    }
}

/// The answer to a request for a lease.
package enum LeaseAnswer: Sendable, Hashable {
    case granted(LeaseGrant)
    /// Another owner holds the lease; it expires after this long unless it is renewed or released first.
    case held(forMs: Int)
    /// The requested epoch is not above the newest granted one; request a greater one.
    case outdated(newest: UInt64)

    package var grant: LeaseGrant? {
        if case .granted(let grant) = self { grant } else { nil }
    }

    package var heldForMs: Int? {
        if case .held(let forMs) = self { forMs } else { nil }
    }
}

/// A lease's current holder.
package struct LeaseState: Sendable, Hashable {
    package var owner: String
    package var epoch: UInt64
    package var remainingMs: Int

    package init(owner: String, epoch: UInt64, remainingMs: Int) {
        self.owner = owner
        self.epoch = epoch
        self.remainingMs = remainingMs
    }
}
