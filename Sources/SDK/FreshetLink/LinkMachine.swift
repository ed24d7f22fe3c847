package import FreshetTypes
import JSON
import JSONPatch
import ServerSentEvents

/// The link of a connector to its server: one WebSocket of `graphql-transport-ws` for all live queries, with results as
/// patches. Pure: times come in, actions go out. Source: SDK specification §4 (1) to (3).
///
/// It connects while there are feeds. A lost link is made again with back-off, not before the server allows it, and all
/// feeds are subscribed again, with the tags of the results that they hold: what has not changed is not sent again.
/// Before the token expires, a second link with a newer one takes over, so results stay confirmed; a server that
/// rejects a token is asked once more with a newer one.
///
/// A network that does not let WebSockets through gets event streams, then long-polls (`LinkMachine+Exchanges.swift`);
/// WebSockets are tried again from time to time.
///
/// Long, because the events of one link belong together.
package struct LinkMachine: Sendable {
    struct Feed: Sendable {
        let request: FeedRequest
        /// Its id on the present link; nil while it is not subscribed.
        var subscription: String?
        /// `{"data":…}` as the server last sent it, which patches start from.
        var document: JSONValue?
        /// The server's name for `document`, with which it resumes. Nil without a document.
        var tag: String?
        /// The `ETag` of the last answer to a poll, also if that has no document to start from.
        var pollTag: String?
        /// Whether the present link has sent its result, or confirmed it.
        var isConfirmed = false
        /// Whether its present request was answered.
        var isAnswered = false
        /// The time by which its request has to show a sign of life; without a WebSocket only.
        var answerByMs: Int64?
        var requestedAtMs: Int64 = 0
        var events = ServerSentEventParser()
        /// When a feed that the server turned away for now is subscribed again.
        var retryAtMs: Int64?
        var pace: ReconnectPace
        var tokenRefusals = 0
    }

    /// A link that is being made.
    struct Attempt: Sendable {
        enum Stage: Sendable { case token, connecting, greeting }
        let link: Int
        let way: LinkWay
        var stage: Stage
        var deadlineMs: Int64
        /// Whether a new link takes over from one that works.
        let isRenewal: Bool
    }

    /// A link that works.
    struct Ready: Sendable {
        let link: Int
        let way: LinkWay
        /// Whether anything of the server has arrived.
        var isProven: Bool
        /// Whether the app knows that it is connected.
        var isAnnounced: Bool
    }

    let limits: LinkLimits
    var feeds: [FeedID: Feed] = [:]
    var feedBySubscription: [String: FeedID] = [:]
    /// Bounded by `LinkLimits.waitsMax`.
    var waits: [WaitID: Wait] = [:]
    var attempt: Attempt?
    var ready: Ready?
    /// The way of the next attempt.
    var way = LinkWay.webSocket
    /// The attempts in a row that the network seems to have blocked.
    var blockedCount = 0
    /// When a WebSocket is tried behind a link that has fallen back.
    var upgradeAtMs: Int64?
    private var retryAtMs: Int64?
    private var renewAtMs: Int64?
    private var idleAtMs: Int64?
    private var heardAtMs: Int64 = 0
    private var pingSentAtMs: Int64?
    var token: String?
    /// Up to where the client knows the history of invalidations.
    var invalidationPosition: String?
    private var tokenRefusals = 0
    private(set) var isStopped = false
    var pace: ReconnectPace
    private var lastLink = 0
    var lastSubscription = 0
    var seed: UInt64

    /// - Parameter seed: of the jitter.
    package init(limits: LinkLimits = LinkLimits(), seed: UInt64) {
        self.limits = limits
        self.seed = seed
        pace = ReconnectPace(seed: seed)
    }

    package var isReady: Bool { ready?.isProven == true }
    package var feedCount: Int { feeds.count }
    /// Sizes of all that grows, for tests of memory.
    package var heldCount: Int { feeds.count + feedBySubscription.count + waits.count }

    /// When `tick` is due; nil: never.
    package var deadlineMs: Int64? {
        var times = [retryAtMs, renewAtMs, idleAtMs, attempt.flatMap { $0.stage == .token ? nil : $0.deadlineMs }]
        if let ready {
            if ready.way == .webSocket {
                times.append(pingSentAtMs.map { $0 + limits.silenceMs } ?? heardAtMs + limits.silenceMs)
            } else {
                times.append(upgradeAtMs)
                times += feeds.values.map(\.answerByMs)
            }
        }
        times += waits.values.flatMap { [$0.deadlineMs, $0.askAgainAtMs] }
        let feedTimes = ready == nil ? [] : feeds.values.compactMap(\.retryAtMs)
        return (times.compactMap { $0 } + feedTimes).min()
    }

    // MARK: From the app

    /// - Parameter held: the result that the app holds from an earlier run; it is sent again only if it has changed.
    package mutating func follow(
        _ id: FeedID, _ request: FeedRequest, held: HeldResult? = nil, nowMs: Int64
    ) -> [LinkAction] {
        guard feeds[id] == nil else { return [] }
        seed &+= 1
        var feed = Feed(request: request, pace: ReconnectPace(seed: seed))
        if let held { (feed.document, feed.tag) = (["data": held.data], held.tag) }
        feeds[id] = feed
        idleAtMs = nil
        if ready != nil { return subscribe(id, nowMs) }
        return beginIfNeeded(nowMs)
    }

    package mutating func unfollow(_ id: FeedID, nowMs: Int64) -> [LinkAction] {
        guard let feed = feeds.removeValue(forKey: id) else { return [] }
        var actions: [LinkAction] = []
        if let subscription = feed.subscription {
            feedBySubscription[subscription] = nil
            actions += leave(subscription)
        }
        if feeds.isEmpty {
            retryAtMs = nil
            if ready != nil {
                idleAtMs = nowMs + limits.idleMs
            } else if let attempt {
                self.attempt = nil
                if attempt.stage != .token { actions.append(.close(link: attempt.link, code: 1000)) }
                actions.append(.status(.idle))
            }
        }
        return actions + settled(id)
    }

    /// - Parameter position: up to where the cache of an earlier run knows the history of invalidations.
    package mutating func resumeInvalidations(at position: String?) { invalidationPosition = position }

    /// The app cannot use the result that it held for a feed: it is sent whole.
    package mutating func discard(_ id: FeedID, nowMs: Int64) -> [LinkAction] {
        guard let feed = feeds[id], feed.tag != nil || feed.isConfirmed else { return [] }
        feeds[id]?.forget()
        return feeds[id]?.subscription == nil ? [] : again(id, nowMs)
    }

    /// Closes the link; feeds stay and are silent until `start`.
    package mutating func stop() -> [LinkAction] {
        guard !isStopped else { return [] }
        isStopped = true
        return dropLinks() + failWaits(FreshetError(.closed, "the connector was stopped")) + [.status(.stopped)]
    }

    package mutating func start(nowMs: Int64) -> [LinkAction] {
        guard isStopped else { return [] }
        isStopped = false
        return beginIfNeeded(nowMs)
    }

    /// The app's user or token changed: the link is made again.
    package mutating func identityChanged(nowMs: Int64) -> [LinkAction] {
        token = nil
        tokenRefusals = 0
        for id in feeds.keys { feeds[id]?.tokenRefusals = 0 }
        let wasReady = ready != nil
        let actions = dropLinks()
        if isStopped { return actions }
        return actions + (wasReady ? [.lost(Self.renewing)] : []) + beginIfNeeded(nowMs)
    }

    /// The system says that the network is back: no reason to wait, and a reason to test the link.
    package mutating func networkChanged(nowMs: Int64) -> [LinkAction] {
        if retryAtMs != nil {
            retryAtMs = nowMs
            return tick(nowMs: nowMs)
        }
        guard let ready, pingSentAtMs == nil else { return [] }
        guard ready.way == .webSocket else {
            upgradeAtMs = nowMs
            return tick(nowMs: nowMs)
        }
        pingSentAtMs = nowMs
        return [.send(link: ready.link, LinkMessage.ping)]
    }

    // MARK: Token

    /// - Parameter renewInMs: when a newer token will be needed; nil: never.
    package mutating func tokenReady(_ token: String?, renewInMs: Int64?, nowMs: Int64) -> [LinkAction] {
        guard var attempt, attempt.stage == .token else { return [] }
        if attempt.isRenewal, attempt.way == ready?.way, token == self.token {
            self.attempt = nil
            renewAtMs = nowMs + limits.renewalRetryMs
            return []
        }
        self.token = token
        renewAtMs = renewInMs.map { nowMs + max(0, $0) }
        // Each request carries the token; there is nothing to greet.
        if attempt.way != .webSocket { return acknowledged(attempt, nowMs) }
        attempt.stage = .connecting
        attempt.deadlineMs = nowMs + limits.stepMs
        self.attempt = attempt
        return [.open(link: attempt.link)]
    }

    package mutating func tokenFailed(_ error: FreshetError, nowMs: Int64) -> [LinkAction] {
        guard let attempt, attempt.stage == .token else { return [] }
        self.attempt = nil
        return attempt.isRenewal ? renewLater(attempt, nowMs) : retry(error, retryAfterMs: nil, nowMs)
    }

    // MARK: From the transport

    package mutating func opened(link: Int, nowMs: Int64) -> [LinkAction] {
        guard var attempt, attempt.link == link, attempt.stage == .connecting else { return [] }
        attempt.stage = .greeting
        attempt.deadlineMs = nowMs + limits.stepMs
        self.attempt = attempt
        return [.send(link: link, LinkMessage.connectionInit(token: token, invalidations: invalidationPosition))]
    }

    /// - Parameters:
    ///   - code: the WebSocket's close code; nil if the connection was lost or never made.
    ///   - retryAfterMs: the server's wish.
    ///   - end: how far the connection came.
    package mutating func closed(
        link: Int, code: UInt16?, reason: String, retryAfterMs: Int64? = nil, end: LinkEnd = .lost, nowMs: Int64
    ) -> [LinkAction] {
        if let attempt, attempt.link == link {
            self.attempt = nil
            if attempt.isRenewal { return renewLater(attempt, nowMs) }
            if code == nil, end.isBlock, let actions = blocked(nowMs) { return actions }
            return ended(code, reason, retryAfterMs, nowMs)
        }
        guard ready?.link == link else { return [] }
        forgetLink()
        let lost: [LinkAction] = feeds.isEmpty ? [] : [.lost(Self.error(code, reason))]
        guard attempt == nil else { return lost }
        return lost + ended(code, reason, retryAfterMs, nowMs)
    }

    package mutating func received(link: Int, _ text: [UInt8], nowMs: Int64) -> [LinkAction] {
        guard ready?.link == link || attempt?.link == link else { return [] }
        guard let message = try? JSONParser.parse(text, limits: JSONLimits(bytesMax: .max)),
            let type = message["type"]?.stringValue
        else { return violation(link, "a message that is no JSON object with a type", nowMs) }
        if type == "ping" { return pinged(link, message["payload"], nowMs) }
        if let attempt, attempt.link == link {
            guard attempt.stage == .greeting, type == "connection_ack" else { return [] }
            return acknowledged(attempt, nowMs)
        }
        _ = heard(nowMs)
        if type == "pong" { return ponged(message["payload"], nowMs) }
        guard let id = message["id"]?.stringValue, let feed = feedBySubscription[id] else { return [] }
        switch type {
        case "next":
            feeds[feed]?.isAnswered = true
            return next(feed, message["payload"] ?? .null, nowMs) + settled(feed)
        case "error": return turnedAway(feed, LinkMessage.errors(message["payload"]), nowMs) + settled(feed)
        case "complete": return turnedAway(feed, [], nowMs) + settled(feed)
        default: return []
        }
    }

    private mutating func pinged(_ link: Int, _ payload: JSONValue?, _ nowMs: Int64) -> [LinkAction] {
        _ = heard(nowMs)
        guard let invalidation = LinkMessage.invalidation(payload?["freshet"]?["invalidations"]) else {
            return [.send(link: link, LinkMessage.pong(payload: payload))]
        }
        invalidationPosition = invalidation.position
        return [.send(link: link, LinkMessage.pong(payload: nil)), .invalidated(invalidation)]
    }

    private mutating func heard(_ nowMs: Int64) -> [LinkAction] {
        heardAtMs = nowMs
        pingSentAtMs = nil
        return []
    }

    // MARK: Time

    /// Performs what is due.
    package mutating func tick(nowMs: Int64) -> [LinkAction] {
        var actions: [LinkAction] = []
        // A proxy may swallow the handshake, so this counts as blocked, too.
        if let attempt, attempt.stage != .token, attempt.deadlineMs <= nowMs {
            actions.append(.close(link: attempt.link, code: 1000))
            actions += closed(link: attempt.link, code: nil, reason: "the server does not answer", nowMs: nowMs)
        }
        actions += lateWaits(nowMs) + repeatWaits(nowMs)
        if let retryAtMs, retryAtMs <= nowMs {
            self.retryAtMs = nil
            actions += beginIfNeeded(nowMs)
        }
        if let renewAtMs, renewAtMs <= nowMs {
            self.renewAtMs = nil
            if let ready, attempt == nil { actions += begin(isRenewal: true, ready.way) }
        }
        if let at = upgradeAtMs, at <= nowMs {
            upgradeAtMs = nil
            if let ready, ready.way != .webSocket {
                if attempt == nil {
                    actions += begin(isRenewal: true, .webSocket)
                } else {
                    upgradeAtMs = nowMs + limits.renewalRetryMs
                }
            }
        }
        if let idleAtMs, idleAtMs <= nowMs {
            self.idleAtMs = nil
            if feeds.isEmpty { actions += dropLinks() + [.status(.idle)] }
        }
        if let ready {
            for id in feeds.keys.sorted() {
                guard let at = feeds[id]?.retryAtMs, at <= nowMs else { continue }
                actions += subscribe(id, nowMs)
            }
            actions += ready.way == .webSocket ? testSilence(ready.link, nowMs) : silentExchanges(nowMs)
        }
        return actions
    }

    private mutating func testSilence(_ link: Int, _ nowMs: Int64) -> [LinkAction] {
        if let pingSentAtMs {
            guard pingSentAtMs + limits.silenceMs <= nowMs else { return [] }
            return [.close(link: link, code: 1000)]
                + closed(link: link, code: nil, reason: "the server is silent", nowMs: nowMs)
        }
        guard heardAtMs + limits.silenceMs <= nowMs else { return [] }
        pingSentAtMs = nowMs
        return [.send(link: link, LinkMessage.ping)]
    }

    // MARK: Links

    mutating func beginIfNeeded(_ nowMs: Int64) -> [LinkAction] {
        guard !isStopped, !feeds.isEmpty, ready == nil, attempt == nil, retryAtMs == nil else { return [] }
        return [.status(.connecting)] + begin(isRenewal: false, way)
    }

    mutating func begin(isRenewal: Bool, _ way: LinkWay) -> [LinkAction] {
        lastLink += 1
        attempt = Attempt(link: lastLink, way: way, stage: .token, deadlineMs: .max, isRenewal: isRenewal)
        return [.fetchToken]
    }

    /// Notes an attempt, or a link without a sign of life, that the network seems to have blocked.
    /// - Returns: nil if the same way is to be tried again, after a delay.
    mutating func blocked(_ nowMs: Int64) -> [LinkAction]? {
        blockedCount += 1
        guard blockedCount >= limits.blockedMax else { return nil }
        blockedCount = 0
        way = way.next
        return way == .webSocket ? nil : beginIfNeeded(nowMs)
    }

    private mutating func acknowledged(_ attempt: Attempt, _ nowMs: Int64) -> [LinkAction] {
        var actions = ready.map(closing) ?? []
        let isWebSocket = attempt.way == .webSocket
        let upgradeAtMs = isWebSocket ? nil : self.upgradeAtMs ?? nowMs + limits.upgradeFirstMs
        forgetLink(keepsRenewal: true)
        self.attempt = nil
        self.upgradeAtMs = upgradeAtMs
        ready = Ready(
            link: attempt.link, way: attempt.way, isProven: isWebSocket, isAnnounced: isWebSocket || attempt.isRenewal)
        way = attempt.way
        if isWebSocket { blockedCount = 0 }
        _ = heard(nowMs)
        if isWebSocket, !attempt.isRenewal { actions.append(.status(.connected)) }
        for id in feeds.keys.sorted() { actions += subscribe(id, nowMs) }
        actions += askWaits()
        if feeds.isEmpty { idleAtMs = nowMs + limits.idleMs }
        return actions
    }

    /// Forgets the present link and what was subscribed on it.
    mutating func forgetLink(keepsRenewal: Bool = false) {
        ready = nil
        (pingSentAtMs, idleAtMs, upgradeAtMs) = (nil, nil, nil)
        if !keepsRenewal { renewAtMs = nil }
        feedBySubscription = [:]
        for id in feeds.keys {
            feeds[id]?.unsubscribed()
            feeds[id]?.pollTag = nil
        }
        forgetAskedWaits()
    }

    /// The end of a link that works.
    func closing(_ ready: Ready) -> [LinkAction] {
        switch ready.way {
        case .webSocket: [.close(link: ready.link, code: 1000)]
        case .eventStreams, .longPolls: feedBySubscription.keys.sorted().map { .cancel(exchange: $0) }
        }
    }

    private mutating func dropLinks() -> [LinkAction] {
        var actions: [LinkAction] = []
        if let attempt, attempt.stage != .token { actions.append(.close(link: attempt.link, code: 1000)) }
        if let ready { actions += closing(ready) }
        (attempt, retryAtMs) = (nil, nil)
        forgetLink()
        return actions
    }

    /// Close codes after which the same client fails again (docs/reference/errors.md).
    private static let fatalCodes: Set<UInt16> = [1002, 1007, 1009, 4400, 4401, 4406, 4409, 4429]

    private static func error(_ code: UInt16?, _ reason: String) -> FreshetError {
        let text = reason.isEmpty ? code.map { "the server closed the link with \($0)" } ?? "the link was lost" : reason
        return FreshetError(.offline, text)
    }

    private static let renewing = FreshetError(.offline, "the link is made anew for another token")

    /// Decides what follows the end of a link.
    private mutating func ended(
        _ code: UInt16?, _ reason: String, _ retryAfterMs: Int64?, _ nowMs: Int64
    ) -> [LinkAction] {
        let error = Self.error(code, reason)
        switch code {
        case 4403?:
            tokenRefusals += 1
            guard tokenRefusals > 1 else { return beginIfNeeded(nowMs) }
            tokenRefusals = 0
            return endAll(FreshetError(.unauthenticated, "the server rejects the token: \(reason)"))
        case let code? where Self.fatalCodes.contains(code):
            return endAll(FreshetError(.refused, "the server closed the link with \(code) \(reason)"))
        case 1001? where retryAfterMs == nil && pace.failures == 0:
            // The node drains, and another one takes over.
            return retry(error, retryAfterMs: nil, nowMs)
        default: return retry(error, retryAfterMs: retryAfterMs, nowMs)
        }
    }

    mutating func retry(_ error: FreshetError, retryAfterMs: Int64?, _ nowMs: Int64) -> [LinkAction] {
        guard !feeds.isEmpty else { return [.status(.idle)] }
        let delayMs = pace.delayMs(limits, retryAfterMs: retryAfterMs)
        retryAtMs = nowMs + delayMs
        return [.status(.reconnecting(inMs: delayMs, error))]
    }

    private mutating func renewLater(_ attempt: Attempt, _ nowMs: Int64) -> [LinkAction] {
        guard let ready else { return beginIfNeeded(nowMs) }
        if attempt.way != ready.way {
            upgradeAtMs = nowMs + limits.upgradeMs
            return []
        }
        // The next attempt needs a link even if the app has no newer token.
        token = nil
        renewAtMs = nowMs + max(limits.renewalRetryMs, pace.delayMs(limits, retryAfterMs: nil))
        return []
    }

    /// The server takes the token.
    mutating func confirmed() { tokenRefusals = 0 }

    private mutating func endAll(_ error: FreshetError) -> [LinkAction] {
        let ids = feeds.keys.sorted()
        feeds = [:]
        feedBySubscription = [:]
        return ids.map { .ended($0, error) } + failWaits(error) + [.status(.refused(error))]
    }

    private mutating func violation(_ link: Int, _ text: String, _ nowMs: Int64) -> [LinkAction] {
        [.close(link: link, code: 1002)]
            + closed(link: link, code: nil, reason: "the server broke the protocol: " + text, nowMs: nowMs)
    }
}
