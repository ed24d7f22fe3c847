package import FreshetTypes
import JSON
import JSONPatch

/// The link of a connector to its server: one WebSocket of `graphql-transport-ws` for all live queries, with results as
/// patches. Pure: times come in, actions go out. Source: SDK specification §4 (1) to (3).
///
/// It connects while there are feeds. A lost link is made again with back-off, not before the server allows it, and all
/// feeds are subscribed again. Before the token expires, a second link with a newer one takes over, so results stay
/// confirmed; a server that rejects a token is asked once more with a newer one.
///
/// Long, because the events of one link belong together.
package struct LinkMachine: Sendable {
    private struct Feed: Sendable {
        let request: FeedRequest
        /// Its id on the present link; nil while it is not subscribed.
        var subscription: String?
        /// `{"data":…}` as the server last sent it, which patches start from.
        var document: JSONValue?
        /// When a feed that the server turned away for now is subscribed again.
        var retryAtMs: Int64?
        var pace: ReconnectPace
        var tokenRefusals = 0
    }

    /// A link that is being made.
    private struct Attempt: Sendable {
        enum Stage: Sendable { case token, connecting, greeting }
        let link: Int
        var stage: Stage
        var deadlineMs: Int64
        /// Whether a new link takes over from one that works.
        let isRenewal: Bool
    }

    private let limits: LinkLimits
    private var feeds: [FeedID: Feed] = [:]
    private var feedBySubscription: [String: FeedID] = [:]
    private var attempt: Attempt?
    /// The link that works.
    private var ready: Int?
    private var retryAtMs: Int64?
    private var renewAtMs: Int64?
    private var idleAtMs: Int64?
    private var heardAtMs: Int64 = 0
    private var pingSentAtMs: Int64?
    private var token: String?
    private var tokenRefusals = 0
    private var isStopped = false
    private var pace: ReconnectPace
    private var lastLink = 0
    private var lastSubscription = 0
    private var seed: UInt64

    /// - Parameter seed: of the jitter.
    package init(limits: LinkLimits = LinkLimits(), seed: UInt64) {
        self.limits = limits
        self.seed = seed
        pace = ReconnectPace(seed: seed)
    }

    package var isReady: Bool { ready != nil }
    package var feedCount: Int { feeds.count }
    /// Sizes of all that grows, for tests of memory.
    package var heldCount: Int { feeds.count + feedBySubscription.count }

    /// When `tick` is due; nil: never.
    package var deadlineMs: Int64? {
        var times = [retryAtMs, renewAtMs, idleAtMs, attempt.flatMap { $0.stage == .token ? nil : $0.deadlineMs }]
        if ready != nil { times.append(pingSentAtMs.map { $0 + limits.silenceMs } ?? heardAtMs + limits.silenceMs) }
        let feedTimes = ready == nil ? [] : feeds.values.compactMap(\.retryAtMs)
        return (times.compactMap { $0 } + feedTimes).min()
    }

    // MARK: From the app

    package mutating func follow(_ id: FeedID, _ request: FeedRequest, nowMs: Int64) -> [LinkAction] {
        guard feeds[id] == nil else { return [] }
        seed &+= 1
        feeds[id] = Feed(request: request, pace: ReconnectPace(seed: seed))
        idleAtMs = nil
        if ready != nil { return subscribe(id) }
        return beginIfNeeded(nowMs)
    }

    package mutating func unfollow(_ id: FeedID, nowMs: Int64) -> [LinkAction] {
        guard let feed = feeds.removeValue(forKey: id) else { return [] }
        var actions: [LinkAction] = []
        if let subscription = feed.subscription {
            feedBySubscription[subscription] = nil
            if let ready { actions.append(.send(link: ready, LinkMessage.complete(id: subscription))) }
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
        return actions
    }

    /// Closes the link; feeds stay and are silent until `start`.
    package mutating func stop() -> [LinkAction] {
        guard !isStopped else { return [] }
        isStopped = true
        return dropLinks() + [.status(.stopped)]
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
        pingSentAtMs = nowMs
        return [.send(link: ready, LinkMessage.ping)]
    }

    // MARK: Token

    /// - Parameter renewInMs: when a newer token will be needed; nil: never.
    package mutating func tokenReady(_ token: String?, renewInMs: Int64?, nowMs: Int64) -> [LinkAction] {
        guard var attempt, attempt.stage == .token else { return [] }
        if attempt.isRenewal, token == self.token {
            self.attempt = nil
            renewAtMs = nowMs + limits.renewalRetryMs
            return []
        }
        self.token = token
        renewAtMs = renewInMs.map { nowMs + max(0, $0) }
        attempt.stage = .connecting
        attempt.deadlineMs = nowMs + limits.stepMs
        self.attempt = attempt
        return [.open(link: attempt.link)]
    }

    package mutating func tokenFailed(_ error: FreshetError, nowMs: Int64) -> [LinkAction] {
        guard let attempt, attempt.stage == .token else { return [] }
        self.attempt = nil
        return attempt.isRenewal ? renewLater(nowMs) : retry(error, retryAfterMs: nil, nowMs)
    }

    // MARK: From the transport

    package mutating func opened(link: Int, nowMs: Int64) -> [LinkAction] {
        guard var attempt, attempt.link == link, attempt.stage == .connecting else { return [] }
        attempt.stage = .greeting
        attempt.deadlineMs = nowMs + limits.stepMs
        self.attempt = attempt
        return [.send(link: link, LinkMessage.connectionInit(token: token))]
    }

    /// - Parameters:
    ///   - code: the WebSocket's close code; nil if the connection was lost or never made.
    ///   - retryAfterMs: the server's wish.
    package mutating func closed(
        link: Int, code: UInt16?, reason: String, retryAfterMs: Int64? = nil, nowMs: Int64
    ) -> [LinkAction] {
        if let attempt, attempt.link == link {
            self.attempt = nil
            return attempt.isRenewal ? renewLater(nowMs) : ended(code, reason, retryAfterMs, nowMs)
        }
        guard ready == link else { return [] }
        forgetLink()
        let lost: [LinkAction] = feeds.isEmpty ? [] : [.lost(Self.error(code, reason))]
        guard attempt == nil else { return lost }
        return lost + ended(code, reason, retryAfterMs, nowMs)
    }

    package mutating func received(link: Int, _ text: [UInt8], nowMs: Int64) -> [LinkAction] {
        guard ready == link || attempt?.link == link else { return [] }
        guard let message = try? JSONParser.parse(text, limits: JSONLimits(bytesMax: .max)),
            let type = message["type"]?.stringValue
        else { return violation(link, "a message that is no JSON object with a type", nowMs) }
        if type == "ping" { return [.send(link: link, LinkMessage.pong(payload: message["payload"]))] + heard(nowMs) }
        if let attempt, attempt.link == link {
            guard attempt.stage == .greeting, type == "connection_ack" else { return [] }
            return acknowledged(attempt, nowMs)
        }
        _ = heard(nowMs)
        guard let id = message["id"]?.stringValue, let feed = feedBySubscription[id] else { return [] }
        switch type {
        case "next": return next(feed, message["payload"] ?? .null, nowMs)
        case "error": return turnedAway(feed, LinkMessage.errors(message["payload"]), nowMs)
        case "complete": return turnedAway(feed, [], nowMs)
        default: return []
        }
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
        if let attempt, attempt.stage != .token, attempt.deadlineMs <= nowMs {
            actions.append(.close(link: attempt.link, code: 1000))
            actions += closed(link: attempt.link, code: nil, reason: "the server does not answer", nowMs: nowMs)
        }
        if let retryAtMs, retryAtMs <= nowMs {
            self.retryAtMs = nil
            actions += beginIfNeeded(nowMs)
        }
        if let renewAtMs, renewAtMs <= nowMs {
            self.renewAtMs = nil
            if ready != nil, attempt == nil { actions += begin(isRenewal: true) }
        }
        if let idleAtMs, idleAtMs <= nowMs {
            self.idleAtMs = nil
            if feeds.isEmpty { actions += dropLinks() + [.status(.idle)] }
        }
        if let ready {
            for id in feeds.keys.sorted() {
                guard let at = feeds[id]?.retryAtMs, at <= nowMs else { continue }
                actions += subscribe(id)
            }
            if let pingSentAtMs {
                if pingSentAtMs + limits.silenceMs <= nowMs {
                    actions.append(.close(link: ready, code: 1000))
                    actions += closed(link: ready, code: nil, reason: "the server is silent", nowMs: nowMs)
                }
            } else if heardAtMs + limits.silenceMs <= nowMs {
                pingSentAtMs = nowMs
                actions.append(.send(link: ready, LinkMessage.ping))
            }
        }
        return actions
    }

    // MARK: Links

    private mutating func beginIfNeeded(_ nowMs: Int64) -> [LinkAction] {
        guard !isStopped, !feeds.isEmpty, ready == nil, attempt == nil, retryAtMs == nil else { return [] }
        return [.status(.connecting)] + begin(isRenewal: false)
    }

    private mutating func begin(isRenewal: Bool) -> [LinkAction] {
        lastLink += 1
        attempt = Attempt(link: lastLink, stage: .token, deadlineMs: .max, isRenewal: isRenewal)
        return [.fetchToken]
    }

    private mutating func acknowledged(_ attempt: Attempt, _ nowMs: Int64) -> [LinkAction] {
        var actions: [LinkAction] = []
        if let former = ready { actions.append(.close(link: former, code: 1000)) }
        forgetLink(keepsRenewal: true)
        self.attempt = nil
        ready = attempt.link
        _ = heard(nowMs)
        if !attempt.isRenewal { actions.append(.status(.connected)) }
        for id in feeds.keys.sorted() { actions += subscribe(id) }
        if feeds.isEmpty { idleAtMs = nowMs + limits.idleMs }
        return actions
    }

    /// Forgets the present link and what was subscribed on it.
    private mutating func forgetLink(keepsRenewal: Bool = false) {
        ready = nil
        (pingSentAtMs, idleAtMs) = (nil, nil)
        if !keepsRenewal { renewAtMs = nil }
        feedBySubscription = [:]
        for id in feeds.keys {
            feeds[id]?.subscription = nil
            feeds[id]?.document = nil
            feeds[id]?.retryAtMs = nil
        }
    }

    private mutating func dropLinks() -> [LinkAction] {
        var actions: [LinkAction] = []
        if let attempt, attempt.stage != .token { actions.append(.close(link: attempt.link, code: 1000)) }
        if let ready { actions.append(.close(link: ready, code: 1000)) }
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

    private mutating func retry(_ error: FreshetError, retryAfterMs: Int64?, _ nowMs: Int64) -> [LinkAction] {
        guard !feeds.isEmpty else { return [.status(.idle)] }
        let delayMs = pace.delayMs(limits, retryAfterMs: retryAfterMs)
        retryAtMs = nowMs + delayMs
        return [.status(.reconnecting(inMs: delayMs, error))]
    }

    private mutating func renewLater(_ nowMs: Int64) -> [LinkAction] {
        if ready == nil { return beginIfNeeded(nowMs) }
        // The next attempt needs a link even if the app has no newer token.
        token = nil
        renewAtMs = nowMs + max(limits.renewalRetryMs, pace.delayMs(limits, retryAfterMs: nil))
        return []
    }

    private mutating func endAll(_ error: FreshetError) -> [LinkAction] {
        let ids = feeds.keys.sorted()
        feeds = [:]
        feedBySubscription = [:]
        return ids.map { .ended($0, error) } + [.status(.refused(error))]
    }

    private mutating func violation(_ link: Int, _ text: String, _ nowMs: Int64) -> [LinkAction] {
        [.close(link: link, code: 1002)]
            + closed(link: link, code: nil, reason: "the server broke the protocol: " + text, nowMs: nowMs)
    }

    // MARK: Feeds

    private mutating func subscribe(_ id: FeedID) -> [LinkAction] {
        guard let ready, let feed = feeds[id] else { return [] }
        lastSubscription += 1
        let subscription = String(lastSubscription)
        if let former = feed.subscription { feedBySubscription[former] = nil }
        feedBySubscription[subscription] = id
        feeds[id]?.subscription = subscription
        feeds[id]?.document = nil
        feeds[id]?.retryAtMs = nil
        return [.send(link: ready, LinkMessage.subscribe(id: subscription, feed.request))]
    }

    private mutating func next(_ id: FeedID, _ payload: JSONValue, _ nowMs: Int64) -> [LinkAction] {
        if let patch = payload["extensions"]?["delta"]?["patch"] {
            guard let held = feeds[id]?.document, let patched = try? JSONPatch.apply(patch, to: held),
                let data = patched["data"]
            else { return again(id) }
            feeds[id]?.document = patched
            confirmed(id)
            return [.result(id, data, [])]
        }
        let errors = LinkMessage.errors(payload["errors"])
        guard let data = payload["data"], !data.isNull else {
            feeds[id]?.document = nil
            return [.failed(id, FreshetError(errors))]
        }
        // After an error the next result is whole, too: the gateway keeps no base.
        feeds[id]?.document = errors.isEmpty ? ["data": data] : nil
        confirmed(id)
        return [.result(id, data, errors)]
    }

    private mutating func confirmed(_ id: FeedID) {
        pace.succeeded()
        tokenRefusals = 0
        feeds[id]?.pace.succeeded()
        feeds[id]?.tokenRefusals = 0
    }

    /// A patch without its base: the subscription begins again, with a whole result.
    private mutating func again(_ id: FeedID) -> [LinkAction] {
        guard let ready, let former = feeds[id]?.subscription else { return [] }
        return [.send(link: ready, LinkMessage.complete(id: former))] + subscribe(id)
    }

    /// The server ended a subscription: for good, or for now.
    private mutating func turnedAway(_ id: FeedID, _ errors: [ResponseError], _ nowMs: Int64) -> [LinkAction] {
        guard var feed = feeds[id] else { return [] }
        if let subscription = feed.subscription { feedBySubscription[subscription] = nil }
        feed.subscription = nil
        feed.document = nil
        let error =
            errors.isEmpty ? FreshetError(.unavailable, "the server ended the subscription") : FreshetError(errors)
        switch error.code {
        case .unavailable:
            feed.retryAtMs = nowMs + feed.pace.delayMs(limits, retryAfterMs: error.retryAfterMs)
            feeds[id] = feed
            return [.failed(id, error)]
        case .unauthenticated where feed.tokenRefusals == 0 && token != nil:
            // The token may have expired a moment ago.
            feed.tokenRefusals = 1
            feeds[id] = feed
            token = nil
            return [.failed(id, error)] + (attempt == nil ? begin(isRenewal: true) : [])
        default:
            feeds[id] = nil
            return [.ended(id, error)]
        }
    }
}
