import FreshetLink
import FreshetTypes
import JSON

/// A link machine with the little state that a performer has.
struct LinkDriver {
    var machine: LinkMachine
    var nowMs: Int64 = 0
    /// The machine's actions, in order.
    var actions: [LinkAction] = []

    init(limits: LinkLimits = LinkLimits(), seed: UInt64 = 1) { machine = LinkMachine(limits: limits, seed: seed) }

    mutating func take() -> [LinkAction] {
        defer { actions = [] }
        return actions
    }

    mutating func follow(_ id: Int, _ operation: String = "ListLots") {
        let request = FeedRequest(connector: "auctions", operation: operation, variables: [:])
        actions += machine.follow(FeedID(id), request, nowMs: nowMs)
    }

    mutating func unfollow(_ id: Int) { actions += machine.unfollow(FeedID(id), nowMs: nowMs) }

    mutating func tokenReady(_ token: String? = "T", renewInMs: Int64? = nil) {
        actions += machine.tokenReady(token, renewInMs: renewInMs, nowMs: nowMs)
    }

    mutating func opened(_ link: Int) { actions += machine.opened(link: link, nowMs: nowMs) }

    mutating func received(_ link: Int, _ message: JSONValue) {
        actions += machine.received(link: link, JSONWriter.compact(message), nowMs: nowMs)
    }

    mutating func closed(
        _ link: Int, _ code: UInt16?, _ reason: String = "", retryAfterMs: Int64? = nil, end: LinkEnd = .unreachable
    ) {
        actions += machine.closed(
            link: link, code: code, reason: reason, retryAfterMs: retryAfterMs, end: end, nowMs: nowMs)
    }

    mutating func streamed(_ exchange: String, _ text: String) {
        actions += machine.streamed(exchange: exchange, Array(text.utf8), nowMs: nowMs)
    }

    mutating func answered(
        _ exchange: String, _ status: Int, _ body: JSONValue? = nil, tag: String? = nil,
        invalidations: JSONValue? = nil, retryAfterMs: Int64? = nil
    ) {
        let response = LinkResponse(
            status: status, tag: tag.map { "\"\($0)\"" }, invalidations: invalidations?.description,
            retryAfterMs: retryAfterMs, body: body.map(JSONWriter.compact) ?? Array("<html>".utf8))
        actions += machine.answered(exchange: exchange, response, nowMs: nowMs)
    }

    mutating func failed(_ exchange: String, _ end: LinkEnd) {
        actions += machine.failed(exchange: exchange, end, reason: "\(end)", nowMs: nowMs)
    }

    /// Advances to the machine's next deadline.
    @discardableResult
    mutating func advance() -> Int64? {
        guard let deadline = machine.deadlineMs else { return nil }
        let waitedMs = max(0, deadline - nowMs)
        nowMs = max(nowMs, deadline)
        actions += machine.tick(nowMs: nowMs)
        return waitedMs
    }

    /// Brings a link up, with one feed.
    mutating func connect(link: Int = 1, token: String? = "T", renewInMs: Int64? = nil) {
        if machine.feedCount == 0 { follow(1) }
        tokenReady(token, renewInMs: renewInMs)
        opened(link)
        received(link, ["type": "connection_ack"])
    }

    mutating func next(_ link: Int, _ subscription: String, _ payload: JSONValue) {
        received(link, ["id": .string(subscription), "type": "next", "payload": payload])
    }
}

extension [LinkAction] {
    /// The messages that were sent on a link.
    func sent(_ link: Int) -> [JSONValue] {
        compactMap { action in
            guard case .send(link, let bytes) = action else { return nil }
            return try? JSONParser.parse(bytes)
        }
    }

    var statuses: [LinkStatus] {
        compactMap { if case .status(let status) = $0 { status } else { nil } }
    }
}
