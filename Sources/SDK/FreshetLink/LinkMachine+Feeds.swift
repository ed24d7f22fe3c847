import FreshetTypes
import JSON
import JSONPatch

// The feeds of a link: subscriptions, their results and their ends.

extension LinkMachine.Feed {
    /// Ends its subscription. A result without a tag is of no use to the next one.
    mutating func unsubscribed() {
        (subscription, retryAtMs, answerByMs) = (nil, nil, nil)
        (isConfirmed, isAnswered) = (false, false)
        if tag == nil { document = nil }
    }

    /// Forgets the result, so that the server sends it whole.
    mutating func forget() { (document, tag, pollTag, isConfirmed) = (nil, nil, nil, false) }
}

extension LinkMachine {
    mutating func subscribe(_ id: FeedID, _ nowMs: Int64) -> [LinkAction] {
        guard let ready, let feed = feeds[id] else { return [] }
        lastSubscription += 1
        let subscription = String(lastSubscription)
        if let former = feed.subscription { feedBySubscription[former] = nil }
        feeds[id]?.retryAtMs = nil
        if feed.tag == nil { feeds[id]?.document = nil }
        guard ready.way == .webSocket else { return request(id, ready.way, subscription, nowMs) }
        feedBySubscription[subscription] = id
        feeds[id]?.subscription = subscription
        feeds[id]?.isAnswered = false
        let message = LinkMessage.subscribe(id: subscription, feed.request, resume: feed.tag)
        return [.send(link: ready.link, message)]
    }

    /// Ends a subscription on the present link.
    func leave(_ subscription: String) -> [LinkAction] {
        guard let ready else { return [] }
        switch ready.way {
        case .webSocket: return [.send(link: ready.link, LinkMessage.complete(id: subscription))]
        case .eventStreams, .longPolls: return [.cancel(exchange: subscription)]
        }
    }

    /// Handles a result: whole, as a patch, or as the statement that it is unchanged.
    mutating func next(_ id: FeedID, _ payload: JSONValue, _ nowMs: Int64) -> [LinkAction] {
        let extensions = payload["extensions"]
        let tag = extensions?["resume"]?.stringValue
        if let patch = extensions?["delta"]?["patch"] {
            guard let held = feeds[id]?.document, let patched = try? JSONPatch.apply(patch, to: held),
                let data = patched["data"]
            else { return again(id, nowMs) }
            return result(id, data, [], tag)
        }
        if extensions?["unchanged"]?.boolValue == true {
            guard let data = feeds[id]?.document?["data"] else { return again(id, nowMs) }
            return result(id, data, [], tag ?? feeds[id]?.tag)
        }
        let errors = LinkMessage.errors(payload["errors"])
        guard let data = payload["data"], !data.isNull else {
            feeds[id]?.forget()
            return [.failed(id, FreshetError(errors))]
        }
        return result(id, data, errors, tag)
    }

    /// Keeps a result for patches and for resuming. After an error the next one is whole: the gateway keeps no base.
    private mutating func result(
        _ id: FeedID, _ data: JSONValue, _ errors: [ResponseError], _ tag: String?
    ) -> [LinkAction] {
        let tag = errors.isEmpty ? tag : nil
        feeds[id]?.document = errors.isEmpty ? ["data": data] : nil
        feeds[id]?.tag = tag
        pace.succeeded()
        confirmed()
        feeds[id]?.pace.succeeded()
        feeds[id]?.tokenRefusals = 0
        feeds[id]?.isConfirmed = true
        return [.result(id, data, errors, tag: tag)]
    }

    /// A patch without its base: the subscription begins again, with a whole result.
    mutating func again(_ id: FeedID, _ nowMs: Int64) -> [LinkAction] {
        guard ready != nil, let former = feeds[id]?.subscription else { return [] }
        feeds[id]?.forget()
        return leave(former) + subscribe(id, nowMs)
    }

    /// The server ended a subscription: for good, or for now.
    mutating func turnedAway(
        _ id: FeedID, _ errors: [ResponseError], retryAfterMs: Int64? = nil, _ nowMs: Int64
    ) -> [LinkAction] {
        guard let feed = feeds[id] else { return [] }
        let error =
            errors.isEmpty
            ? FreshetError(.unavailable, "the server ended the subscription")
            : FreshetError(errors, retryAfterMs: retryAfterMs)
        switch error.code {
        case .unavailable: return later(id, error, nowMs)
        case .unauthenticated where feed.tokenRefusals == 0 && token != nil:
            // The token may have expired a moment ago.
            if let subscription = feed.subscription { feedBySubscription[subscription] = nil }
            feeds[id]?.unsubscribed()
            feeds[id]?.tokenRefusals = 1
            token = nil
            guard attempt == nil, let ready else { return [.failed(id, error)] }
            return [.failed(id, error)] + begin(isRenewal: true, ready.way)
        default:
            if let subscription = feed.subscription { feedBySubscription[subscription] = nil }
            feeds[id] = nil
            return [.ended(id, error)]
        }
    }

    /// Ends a subscription for now; it begins again after a delay.
    mutating func later(_ id: FeedID, _ error: FreshetError, _ nowMs: Int64) -> [LinkAction] {
        guard var feed = feeds[id] else { return [] }
        if let subscription = feed.subscription { feedBySubscription[subscription] = nil }
        feed.unsubscribed()
        feed.retryAtMs = nowMs + feed.pace.delayMs(limits, retryAfterMs: error.retryAfterMs)
        feeds[id] = feed
        return [.failed(id, error)]
    }
}
