/// A deliberate mistake in the simulated shells or services, to prove that the checkers notice it. The machines of the
/// product stay as they are: a mistake changes their settings, the facts they get, or the effects they want.
package enum Sabotage: String, Sendable, CaseIterable {
    /// Gateways take every message for newer than what they have.
    case gatewayFenceSkipped
    /// Gateways compare runs and not epochs.
    case epochIgnored
    /// Epochs are times of Redis' clock, and of each new server's.
    case epochsByTheClock
    /// Workers serve under the epoch that Redis grants, and record none.
    case epochsNotRecorded
    /// Workers do not notice that another database answers.
    case databaseChangesUnnoticed
    /// Redis lets any worker renew, checkpoint and trim.
    case leaseFenceSkipped
    /// Workers serve on when their lease may be another worker's.
    case serveAfterExpiry
    /// Workers serve at once what Redis forgot the owner of.
    case formerOwnersForgotten
    /// Workers use what they read, also when the lease ended meanwhile.
    case lateResultsUsed
    /// API nodes append the event before the transaction commits.
    case publishBeforeCommit
    /// API nodes remove the outbox row without waiting for the streams.
    case removeBeforePublish
    /// API nodes acknowledge mutations before they commit.
    case acknowledgeBeforeCommit
    /// No node publishes what a dead API node left in its outbox.
    case noSweeper
    /// Sweepers take rows by `created_at > last`.
    case sweeperGoesByOrder
    /// API nodes publish without a bound.
    case unboundedPublishing
    /// Workers read first and enter the rule index afterwards.
    case queryBeforeRegister
    /// An event that finds a run in flight counts as covered by it.
    case noDirtyMark
    /// Workers ignore that streams were cut or replaced.
    case historyTrustedAfterLoss
    /// Gateways do not announce their interest to a new owner.
    case noReannouncement
    /// Gateways do not withdraw interest.
    case noWithdrawal
    /// Sessions keep the oldest pending result.
    case oldestPendingWins
    /// Gateways compare and trust positions across shards.
    case positionsTravel
    /// A resume tag counts for any live query.
    case tagTrustedForOthers
    /// Workers say that results are fresh up to events that are yet to come.
    case settledAhead
    /// Workers overlook an event of each page of older events.
    case replayHole
    /// API nodes remove outbox rows without asking whether other shards became responsible.
    case overridesUnconfirmed
    /// API nodes remove outbox rows although there is a deployment that they have not loaded.
    case deploymentsIgnored
    /// Workers answer for live queries of other releases by their own.
    case versionsMixed
    /// Sweepers do not append resync markers.
    case resyncMarkerOmitted
    /// Rows of the outbox are folded into none.
    case foldedRowLost
    /// Workers do not look at the timeline of Postgres.
    case timelineIgnored
    /// Requests for leases do not name the timeline as their basis.
    case basisIgnored
    /// Workers begin to serve without a look at the recorded epoch.
    case startUnchecked
    /// Workers follow events from the end of the stream, not from where the history ended.
    case followedFromEnd
    /// Workers hand the results of one statement to each other's live queries.
    case swappedOutcomes
}
