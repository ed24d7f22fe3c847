package import LiveModel
package import Sharding

/// The state machine of a gateway's interest in the live queries that its sessions subscribe to.
///
/// It announces interest to the owning shards and repeats announcements until answered, keeps the last result of each
/// live query, and drops messages that are older than it (fencing). It counts subscriptions per *hub*, one hub per
/// event loop; the hub knows the sessions. Methods report facts with the time at which they happened and return
/// `Action`s. The `InterestEntry` of a live query makes its decisions; this type finds the entry and addresses the
/// consequences.
///
/// Messages and unsubscriptions may concern live queries that have ended; they change nothing.
///
/// Long, because everything here reads or changes the table, which nothing else may see.
package struct InterestMachine: Sendable {
    package let gateway: NodeID
    private let settings: Settings
    /// Determine the routes of live queries.
    private var overrides = ClusterOverrides()
    var table: InterestTable
    package private(set) var lastAnnouncement: UInt64
    /// The id of the last epoch read.
    private var lastCall: UInt64 = 0
    private var nextSummaryMs: Int64 = 0
    private var nextSweepMs: Int64 = 0
    /// The number of moves of live queries to another route since the start.
    package private(set) var movedCount = 0

    /// Makes a machine that routes live queries without overrides until `overridesChanged`.
    /// - Parameter firstAnnouncement: greater than any announcement number of a former process under this name.
    package init(gateway: NodeID, settings: Settings, firstAnnouncement: UInt64 = 0) {
        self.gateway = gateway
        self.settings = settings
        self.lastAnnouncement = firstAnnouncement
        table = InterestTable(waits: WaitTable(settings, firstNumber: firstAnnouncement))
    }

    /// Returns the route of a live query by the latest overrides.
    package func route(of query: LiveQuery) -> ShardRoute {
        ShardRouting.route(of: query, shardCount: settings.shardCount, overrides: overrides)
    }

    // MARK: Reports

    package var liveQueryCount: Int { table.count }

    /// Returns a live query that is held.
    package func liveQuery(_ key: LiveQueryKey) -> LiveQuery? { table[key]?.query }
    package var subscriptionCount: Int { table.totals.subscriptions }
    package var awaitingCount: Int { table.totals.awaiting }
    /// The bytes of the held results.
    package var resultBytes: Int { table.totals.resultBytes }

    // MARK: Subscriptions

    /// Adds a subscription of `query` on `hub`.
    /// - Parameters:
    ///   - known: the result that the client says it holds.
    ///   - reportsTimerRuns: whether to deliver each timer run, even if the result is unchanged.
    ///   - client: who subscribes; nil if that is unknown.
    package mutating func subscribed(
        hub: Int, _ query: LiveQuery, known: KnownResult?, reportsTimerRuns: Bool = false, client: ClientID? = nil,
        nowMs: Int64
    ) throws(RequestError) -> Start {
        let (key, next) = (query.key, lastAnnouncement + 1)
        guard table[key] != nil else {
            let ended = try makeRoom()
            table.insert(
                InterestEntry(
                    query, route(of: query), hub: hub, known: known, reportsTimerRuns: reportsTimerRuns,
                    client: client, nextAnnouncement: next)
            )
            table.follow(route(of: query).shard, nowMs: nowMs)
            expectAnswer(key, nowMs: nowMs)
            return Start(
                fencedUntil: next, actions: ended + whatCounts(nowMs: nowMs) + announce(key, nowMs: nowMs))
        }
        let (mustAnnounce, join) = table.update(key) { entry in
            // The owner must know of the first subscription that requests timer runs.
            let mustAnnounce = reportsTimerRuns && entry.requestTimerRuns()
            return (mustAnnounce, entry.join(hub: hub, known: known, client: client, nextAnnouncement: next))
        }
        if !join.isImmediate { expectAnswer(key, nowMs: nowMs) }
        switch join {
        case .immediate(let delivery):
            return Start(immediate: delivery, actions: mustAnnounce ? announce(key, nowMs: nowMs) : [])
        case .awaitsAnswer(let fencedUntil):
            return Start(fencedUntil: fencedUntil, actions: mustAnnounce ? announce(key, nowMs: nowMs) : [])
        case .announce: return Start(fencedUntil: next, actions: announce(key, nowMs: nowMs))
        case .announceUnordered: return Start(fromAnnouncement: next, actions: announce(key, nowMs: nowMs))
        }
    }

    /// Requests another run of the live query, regardless of the held result.
    /// - Returns: the number of the announcement that requests it; nil if the live query has no subscriptions.
    package mutating func rerun(_ key: LiveQueryKey, nowMs: Int64) -> (announcement: UInt64, actions: [Action])? {
        guard let entry = table[key], entry.hasSubscriptions else { return nil }
        let next = lastAnnouncement + 1
        table.update(key) { $0.requireRun(nextAnnouncement: next) }
        return (next, announce(key, nowMs: nowMs))
    }

    /// Removes a subscription. Its live query may not exist any more, because the gateway left.
    /// - Parameter lingers: whether the client may be back soon; false if it ended the subscription itself.
    package mutating func unsubscribed(
        hub: Int, _ key: LiveQueryKey, lingers: Bool = true, nowMs: Int64
    ) -> [Action] {
        guard table[key] != nil else { return [] }
        let lingerMs = lingers ? settings.lingerMs : 0
        let isOver = table.update(key) { entry in
            guard entry.leave(hub: hub), !entry.hasSubscriptions else { return false }
            if lingerMs > 0 { entry.linger(untilMs: nowMs + lingerMs) }
            return lingerMs <= 0
        }
        return isOver ? end(key) + whatCounts(nowMs: nowMs) : []
    }

    private mutating func end(_ key: LiveQueryKey) -> [Action] {
        let entry = table.remove(key)
        return [.tell(entry.route.shard, .withdraw(gateway: gateway, key: key))]
    }

    private mutating func announce(_ key: LiveQueryKey, nowMs: Int64) -> [Action] {
        lastAnnouncement += 1
        let (number, gateway, settings) = (lastAnnouncement, gateway, settings)
        return table.update(key) { entry in
            [.tell(entry.route.shard, entry.announce(number, by: gateway, settings, nowMs: nowMs))]
        }
    }

    /// Handles a change of the overrides: announces moved live queries on their new route, then withdraws them from the
    /// old shard. Later messages from the old shard are dropped.
    package mutating func overridesChanged(_ overrides: ClusterOverrides, nowMs: Int64) -> [Action] {
        self.overrides = overrides
        var actions: [Action] = []
        for key in table.keys(where: { route(of: $0.query) != $0.route }) {
            let next = lastAnnouncement + 1
            let (former, shard) = table.update(key) { [shardCount = settings.shardCount] entry in
                let former = entry.route.shard
                entry.move(
                    to: ShardRouting.route(of: entry.query, shardCount: shardCount, overrides: overrides),
                    nextAnnouncement: next)
                return (former, entry.route.shard)
            }
            table.follow(shard, nowMs: nowMs)
            actions += announce(key, nowMs: nowMs)
            if shard != former { actions.append(.tell(former, .withdraw(gateway: gateway, key: key))) }
            movedCount += 1
        }
        if !actions.isEmpty { actions += performed(table.movedWaits(nowMs: nowMs)) }
        actions += whatCounts(nowMs: nowMs)
        return actions
    }

    // MARK: The inbox

    /// Handles a message from a shard's owner.
    package mutating func inboxArrived(_ message: InboxMessage, nowMs: Int64) -> [Action] {
        var actions = arrived(message, nowMs: nowMs)
        actions += whatCounts(nowMs: nowMs)
        return actions
    }

    private mutating func arrived(_ message: InboxMessage, nowMs: Int64) -> [Action] {
        switch message {
        case .result(let shard, let key, let result, let number):
            arrived(shard, epoch: result.position.epoch, key, number, nowMs: nowMs) {
                $0.arrived(result, answering: number, nowMs: nowMs)
            }
        case .unchanged(let shard, let key, let digest, let position, let epoch, let number):
            arrived(shard, epoch: epoch, key, number, nowMs: nowMs) {
                $0.confirmed(digest, position, answering: number, nowMs: nowMs)
            }
        case .unchangedTick(let shard, let key, let digest, let position, let number):
            arrived(shard, epoch: position.epoch, key, number, nowMs: nowMs) {
                $0.timerRunArrived(digest, position, nowMs: nowMs)
            }
        case .failed(let shard, let key, let position, let error, let number):
            arrived(shard, epoch: position.epoch, key, number, confirms: !error.code.isRetryable, nowMs: nowMs) {
                $0.failed(error, position, answering: number, nowMs: nowMs)
            }
        case .announceAll(let shard, let epoch): announceAll(shard, epoch: epoch, nowMs: nowMs)
        case .settled(let shard, let epoch, let through, let except, let held):
            settled(shard, epoch: epoch, through, except: except, held, nowMs: nowMs)
        case .marker(let shard, let epoch, let marker): markerArrived(shard, epoch: epoch, marker, nowMs: nowMs)
        case .ticket(let shard, let epoch, let number): ticketArrived(shard, epoch: epoch, number, nowMs: nowMs)
        }
    }

    /// Handles a message about one live query; ignores it if it comes from a former owner or concerns an ended
    /// registration.
    /// - Parameter confirms: whether the message says what the result is; false after an error that may pass.
    private mutating func arrived(
        _ shard: ShardID, epoch: UInt64, _ key: LiveQueryKey, _ number: UInt64, confirms: Bool = true, nowMs: Int64,
        _ change: (inout InterestEntry) -> InterestEntry.Arrival
    ) -> [Action] {
        if let refused = refuse(epoch, of: shard, nowMs: nowMs) { return refused }
        guard table[key]?.isAddressed(by: shard, answering: number) == true else { return [] }
        let (arrival, hubs) = table.update(key) { entry in
            let arrival = change(&entry)
            if confirms, case .deliver = arrival { entry.confirmed(by: epoch) }
            return (arrival, entry.sortedHubs)
        }
        return switch arrival {
        case .deliver(let delivery):
            hubs.isEmpty ? [] : [.deliver(hubs: hubs, key: key, delivery, answers: number)]
        case .announce: announce(key, nowMs: nowMs)
        case .restart: restart(key, nowMs: nowMs)
        case .awaitsAnswer, .outdated: []
        }
    }

    private mutating func announceAll(_ shard: ShardID, epoch: UInt64, nowMs: Int64) -> [Action] {
        if let refused = refuse(epoch, of: shard, nowMs: nowMs) { return refused }
        // Even if nothing is held: summaries correct an owner that remembers a former process with this name.
        table.sendSummaries(to: shard)
        return table.keys(of: shard).flatMap { announce($0, nowMs: nowMs) }
    }

    private mutating func settled(
        _ shard: ShardID, epoch: UInt64, _ through: StreamID, except: [LiveQueryKey], _ held: HeldFingerprint,
        nowMs: Int64
    ) -> [Action] {
        if let refused = refuse(epoch, of: shard, nowMs: nowMs) { return refused }
        table.settle(shard, through: through, except: Set(except), held: held)
        return []
    }

    // MARK: Markers

    private mutating func markerArrived(
        _ shard: ShardID, epoch: UInt64, _ marker: LagMarker, nowMs: Int64
    ) -> [Action] {
        if let refused = refuse(epoch, of: shard, nowMs: nowMs) { return refused }
        table.markerArrived(marker, of: shard, epoch: epoch, nowMs: nowMs)
        return []
    }

    private mutating func ticketArrived(
        _ shard: ShardID, epoch: UInt64, _ number: UInt64, nowMs: Int64
    ) -> [Action] {
        if let refused = refuse(epoch, of: shard, nowMs: nowMs) { return refused }
        return performed(table.ticketArrived(number, of: shard, epoch: epoch, nowMs: nowMs))
    }

    /// The markers and waits that the last change lets count, after the deliveries that it caused.
    private mutating func whatCounts(nowMs: Int64) -> [Action] {
        table.takeMarkers().map { .passMarker($0) } + performed(table.takeAnsweredWaits(nowMs: nowMs))
    }

    /// Handles a marker that every hub has taken.
    package mutating func markerTaken(_ arrived: ArrivedMarker, nowMs: Int64) {
        table.took(arrived, nowMs: nowMs)
    }

    /// Returns the lag of the shards that this gateway follows.
    package func lag(nowMs: Int64) -> LagReport {
        table.lag(everyMs: settings.markerEveryMs, lateMs: settings.markerLateMs, nowMs: nowMs)
    }

    // MARK: Time

    /// The interval at which to call `timeReached`.
    package static let sweepMs: Int64 = 500

    package mutating func timeReached(nowMs: Int64) -> [Action] {
        guard nowMs >= nextSweepMs else { return [] }
        nextSweepMs = nowMs + Self.sweepMs
        var actions: [Action] = []
        while let key = table.takeDue(nowMs: nowMs) {
            if let untilMs = table[key]?.lingerUntilMs, untilMs <= nowMs {
                actions += end(key)
                continue
            }
            if let byMs = table[key]?.answerByMs, byMs <= nowMs { actions += unanswered(key) }
            if let repeatAtMs = table[key]?.repeatAtMs, repeatAtMs <= nowMs {
                table.update(key) { $0.repeated() }
                actions += announce(key, nowMs: nowMs)
            }
        }
        actions += whatCounts(nowMs: nowMs) + performed(table.waits.timeReached(nowMs: nowMs))
        for shard in table.shardsInDoubt(nowMs: nowMs) { actions.append(askForEpoch(of: shard, nowMs: nowMs)) }
        guard nowMs >= nextSummaryMs else { return actions }
        nextSummaryMs = nowMs + settings.summaryMs
        for (shard, interest) in table.summarizedShards {
            let summary = ControlMessage.summary(
                gateway: gateway, count: interest.keys.count, fingerprint: interest.fingerprint,
                settled: interest.settledThrough)
            actions.append(.tell(shard, summary))
        }
        return actions
    }

    /// Withdraws all interest from every shard that may remember it.
    package mutating func leave() -> [Action] {
        let shards = table.summarizedShards.map(\.shard)
        table.removeAll()
        return shards.map { .tell($0, .leave(gateway: gateway)) }
    }
}

// Answers while the owner of a shard is silent, its answers are lost or refused, or there is no room.

extension InterestMachine {
    /// Gives the owner time to answer a new subscription.
    private mutating func expectAnswer(_ key: LiveQueryKey, nowMs: Int64) {
        guard settings.answerMaxMs > 0 else { return }
        let byMs = nowMs + settings.answerMaxMs
        table.update(key) { $0.expectAnswer(byMs: byMs) }
    }

    /// Tells the subscribers that no owner has answered; announcements are repeated as before.
    private mutating func unanswered(_ key: LiveQueryKey) -> [Action] {
        let hubs = table.update(key) { entry in
            entry.answerIsOverdue()
            return entry.sortedHubs
        }
        let error = RequestError(.unavailable, "no worker has answered for this query in time, try again later")
        return hubs.isEmpty ? [] : [.deliver(hubs: hubs, key: key, .unanswered(error), answers: .max)]
    }

    /// Begins a live query again after its owner has sent only results older than the held one.
    private mutating func restart(_ key: LiveQueryKey, nowMs: Int64) -> [Action] {
        let next = lastAnnouncement + 1
        let hubs = table.update(key) { entry in
            entry.restart(nextAnnouncement: next)
            return entry.sortedHubs
        }
        return (hubs.isEmpty ? [] : [.forgetPositions(hubs: hubs, key: key, from: next)])
            + announce(key, nowMs: nowMs)
    }

    /// Handles a loss of inbox entries: announces everything again.
    package mutating func inboxLost(nowMs: Int64) -> [Action] {
        table.dropMarkers()
        return table.keys().flatMap { announce($0, nowMs: nowMs) }
    }

    /// Handles a new connection to the broker. Earlier announcements may not have reached the broker, so all unanswered
    /// ones are repeated now instead of after their back-off.
    package mutating func brokerReconnected(nowMs: Int64) -> [Action] {
        table.keys(where: \.isAwaiting).flatMap { key in
            table.update(key) { $0.forgetRetries() }
            return announce(key, nowMs: nowMs)
        }
    }

    /// Makes room for another live query: one without subscriptions ends before its time.
    /// - Throws: `.limitExceeded` if all have subscriptions.
    private mutating func makeRoom() throws(RequestError) -> [Action] {
        if table.count < settings.liveQueriesMax { return [] }
        guard let lingering = table.takeLingering() else {
            throw RequestError(.limitExceeded, "too many live queries on this gateway")
        }
        return end(lingering)
    }
}

// The epochs of the shards' owners, which decide whose messages are taken.

extension InterestMachine {
    /// Judges the epoch of a message's sender.
    /// - Returns: nil if the message counts; otherwise the actions that its refusal leads to.
    private mutating func refuse(_ epoch: UInt64, of shard: ShardID, nowMs: Int64) -> [Action]? {
        // Bounds what is stored of shards.
        guard (0..<settings.shardCount).contains(shard.number) else { return [] }
        switch table.updateOwner(of: shard, { $0.judge(epoch, nowMs: nowMs) }) {
        case .believed: return nil
        case .refused: return []
        case .doubtful: return [askForEpoch(of: shard, nowMs: nowMs)]
        }
    }

    /// Asks the database which epoch is recorded.
    private mutating func askForEpoch(of shard: ShardID, nowMs: Int64) -> Action {
        lastCall += 1
        let call = lastCall
        table.updateOwner(of: shard) { $0.asked(call, nowMs: nowMs) }
        return .readEpoch(shard, call: call)
    }

    /// Handles the answer to `readEpoch`. If another epoch was believed, all live queries of the shard are announced
    /// again; if it was higher, nothing that was received under it is comparable with what the owner sends.
    /// - Parameter recorded: the newest recorded epoch; nil if the database did not answer.
    package mutating func epochRead(_ shard: ShardID, call: UInt64, recorded: UInt64?, nowMs: Int64) -> [Action] {
        let correction = table.updateOwner(of: shard) { $0.answered(call, recorded: recorded) }
        switch correction {
        case .none: return []
        case .confirmed(let refused): return [.reportEpoch(shard, named: refused, recorded: recorded ?? 0)]
        case .raised(let former):
            table.sendSummaries(to: shard)
            return [.reportEpoch(shard, named: former, recorded: recorded ?? 0)]
                + table.keys(of: shard).flatMap { announce($0, nowMs: nowMs) }
        case .lowered(let former):
            table.sendSummaries(to: shard)
            var actions = [Action.reportEpoch(shard, named: former, recorded: recorded ?? 0)]
            for key in table.keys(of: shard) { actions += restart(key, nowMs: nowMs) }
            return actions
        }
    }
}
