/// A deliberate mistake in the simulated shells or services, which the checkers must notice. The product's machines are
/// unchanged: a mistake changes their settings, the facts they get, or the effects they return.
package enum Sabotage: String, Sendable, CaseIterable {
    /// Gateways consider every message newer than their results.
    case gatewayFenceSkipped
    /// Gateways compare runs but not epochs.
    case epochIgnored
    /// Epochs are times of the Redis server's clock, different for each new server.
    case epochsByTheClock
    /// Workers serve under the epoch that Redis grants without recording it.
    case epochsNotRecorded
    /// Workers do not notice that another database server answers.
    case databaseChangesUnnoticed
    /// Redis lets any worker renew, checkpoint and trim.
    case leaseFenceSkipped
    /// Workers continue to serve after their lease may have become another worker's.
    case serveAfterExpiry
    /// Workers serve a shard at once although Redis forgot its former owner.
    case formerOwnersForgotten
    /// Workers use results even if the lease ended before they arrived.
    case lateResultsUsed
    /// API nodes append the event before the transaction commits.
    case publishBeforeCommit
    /// API nodes remove the outbox row without waiting for the streams.
    case removeBeforePublish
    /// API nodes acknowledge mutations before they commit.
    case acknowledgeBeforeCommit
    /// No node publishes the rows that a dead API node left in the outbox.
    case noSweeper
    /// Sweepers take rows by `created_at > last`.
    case sweeperGoesByOrder
    /// API nodes publish without a bound.
    case unboundedPublishing
    /// Workers run a live query before they enter it into the rule index.
    case queryBeforeRegister
    /// An event during a run counts as covered by that run.
    case noDirtyMark
    /// Readers of the log confirm transactions before they have published them.
    case logConfirmedEarly
    /// Readers of the log publish transactions that are not visible yet.
    case invisiblePublished
    /// Readers of the log do not say that changes before a new slot may have been missed.
    case newSlotUndoubted
    /// Readers of the log do not have every live query run where events may have been missed.
    case missedEventsForgotten
    /// API nodes do not record that they leave events in the log.
    case eventsUnannounced
    /// Readers of the log record the position of a mark before they have published what comes before.
    case markRecordedEarly
    /// Workers ignore that streams were trimmed or replaced.
    case historyTrustedAfterLoss
    /// Gateways do not learn which epochs are recorded.
    case recordedEpochIgnored
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
    /// Workers report results as fresh up to events that do not exist yet.
    case settledAhead
    /// Workers name the newest marker of a shard when they pass on an older one.
    case markerAhead
    /// Workers return tickets to gateways as soon as they read them.
    case ticketAhead
    /// Gateways append tickets without looking whether the event is in the streams.
    case waitWithoutLooking
    /// Sessions tell a slow client that its wait is over before it has the results that it waits for.
    case waitAheadOfQueue
    /// Workers skip one event of each page of older events.
    case replayHole
    /// API nodes remove outbox rows without confirming which shards are responsible.
    case overridesUnconfirmed
    /// API nodes remove outbox rows although a deployment exists that they have not loaded.
    case deploymentsIgnored
    /// API nodes insert no outbox row if the mutation refreshes nothing by the deployments that they have loaded.
    case laterDeploymentsForgotten
    /// Workers answer live queries of other versions with their current version.
    case versionsMixed
    /// Versions become current before every node has loaded them.
    case activatedEarly
    /// Nodes report a version as loaded although mutations that began without it are in progress.
    case mutationsInProgressIgnored
    /// Looks for deployments end before the versions are in service.
    case servedLate
    /// Workers forget a version as soon as another is current.
    case formerForgotten
    /// Sweepers do not append resync markers.
    case resyncMarkerOmitted
    /// Folding deletes outbox rows without adding the row that replaces them.
    case foldedRowLost
    /// Workers ignore the timeline of Postgres.
    case timelineIgnored
    /// Lease requests do not name the timeline as their basis.
    case basisIgnored
    /// Workers begin to serve without checking the recorded epoch.
    case startUnchecked
    /// Workers follow events from the end of the stream instead of the end of the history.
    case followedFromEnd
    /// Nodes remove the entry of an ended process although a later one of the same name may have announced itself.
    case entryRemovedUnchecked
    /// Gateways leave subscribers without an error when no owner answers.
    case silenceUnreported
    /// Workers keep the rows below those that the first run read, whatever later ones read.
    case boundRowsForgotten
    /// Workers follow a shard again without removing its mark, and do not notice it.
    case marksKept
    /// Workers do not see the marks of former owners.
    case marksUnseen
    /// Workers assign the results of one statement to the wrong live queries.
    case swappedOutcomes
    /// Sessions make patches from results that wait, although the app holds another one.
    case patchedFromUnwritten
    /// Apps resume from a result with the tag of a newer one.
    case newerTagKept
    /// Apps do not subscribe again after a lost link.
    case notSubscribedAgain
    /// Apps trust a link that is silent.
    case silenceTrusted
    /// Apps show results as confirmed although their link is lost.
    case lossUnreported
}
