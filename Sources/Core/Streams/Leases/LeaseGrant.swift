/// A lease was obtained.
package struct LeaseGrant: Sendable, Hashable {
    package var epoch: UInt64
    /// The first epoch that the server's present process granted in its present role. What was read under an earlier
    /// one may lack entries that the server before it acknowledged and lost (a restart, a failover to a replica that
    /// was behind).
    /// The same of epochs before the first one granted on the present basis (`Broker.askLease`).
    package var trustedEpoch: UInt64
    /// The server that granted it (`BrokerState.serverID`).
    package var server: String
    /// How long ago that server first granted this lease; 0: just now. An owner whom only a former server knew, or
    /// deleted data, may not know yet that it is none.
    package var knownForMs: Int64

    /// - Parameters:
    ///   - serverEpoch: the first that this server granted.
    ///   - basisEpoch: the first that was granted on the present basis.
    package init(epoch: UInt64, serverEpoch: UInt64, basisEpoch: UInt64, server: String, knownForMs: Int64) {
        self.epoch = epoch
        self.trustedEpoch = max(serverEpoch, basisEpoch)
        self.server = server
        self.knownForMs = max(0, knownForMs)
    }
}

/// What who asks for a lease is told.
package enum LeaseAnswer: Sendable, Hashable {
    case granted(LeaseGrant)
    /// Another owner holds it for so long, unless that one renews it or gives it back.
    case held(forMs: Int)
    /// An epoch was granted that is not below the one asked for; ask with one above it.
    case outdated(newest: UInt64)

    package var grant: LeaseGrant? {
        if case .granted(let grant) = self { grant } else { nil }
    }

    package var heldForMs: Int? {
        if case .held(let forMs) = self { forMs } else { nil }
    }
}

/// Who holds a lease now.
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
