import FreshetTypes
import JSON
import ServerSentEvents

// Feeds without a WebSocket: each has a request of its own, a stream or a poll. The id of its subscription names it.
//
// As long as one of them works, the link works, and a request that ends is sent again alone. If none does, the link is
// lost, as a WebSocket would be.

extension LinkMachine {
    /// Sends the request of a feed.
    mutating func request(_ id: FeedID, _ way: LinkWay, _ subscription: String, _ nowMs: Int64) -> [LinkAction] {
        guard var feed = feeds[id] else { return [] }
        feed.subscription = nil
        guard feedBySubscription.count < limits.exchangesMax else {
            feeds[id] = feed
            return later(
                id,
                FreshetError(
                    .unavailable, "without WebSockets at most \(limits.exchangesMax) queries are followed at a time"),
                nowMs)
        }
        feed.subscription = subscription
        feed.requestedAtMs = nowMs
        let request: LinkRequest
        switch way {
        case .webSocket: return []
        case .eventStreams:
            (feed.isAnswered, feed.events) = (
                false, ServerSentEventParser(bytesMax: limits.eventBytesMax)
            )
            request = .stream(
                feed.request, resume: feed.tag, token: token, invalidations: invalidationPosition,
                timeoutMs: limits.stepMs)
        case .longPolls:
            // Until the server has confirmed the result, it is asked without a wait.
            let waitMs = feed.isConfirmed ? limits.pollWaitMs : 0
            request = .poll(
                feed.request, tag: feed.tag ?? feed.pollTag, token: token, invalidations: invalidationPosition,
                waitMs: waitMs, timeoutMs: waitMs + limits.stepMs)
        }
        feed.answerByMs = nowMs + request.timeoutMs
        feeds[id] = feed
        feedBySubscription[subscription] = id
        return [.request(exchange: subscription, request)]
    }

    /// Part of a stream arrived.
    package mutating func streamed(exchange: String, _ bytes: [UInt8], nowMs: Int64) -> [LinkAction] {
        guard let id = feedBySubscription[exchange], ready?.way == .eventStreams else { return [] }
        var actions = heardFrom(id)
        // The server sends a comment from time to time (`gateway.keepAliveMs`).
        feeds[id]?.answerByMs = nowMs + 2 * limits.silenceMs
        let events = feeds[id]?.events.feed(bytes) ?? []
        if feeds[id]?.events.isTooLarge == true {
            return actions + [.cancel(exchange: exchange)]
                + interrupted(id, .lost, "the server sent an event that is too long", nowMs)
        }
        for event in events {
            // An event may end the subscription.
            guard feedBySubscription[exchange] == id else { break }
            actions += received(event, of: id, exchange, nowMs)
        }
        return actions
    }

    private mutating func received(
        _ event: ServerSentEventParser.Event, of id: FeedID, _ exchange: String, _ nowMs: Int64
    ) -> [LinkAction] {
        switch event.name {
        case "next":
            guard let payload = try? JSONParser.parse(event.data, limits: JSONLimits(bytesMax: .max)) else {
                return [.cancel(exchange: exchange)] + interrupted(id, .lost, "the server sent no JSON", nowMs)
            }
            // Errors without `data` end the operation; a failed refresh has `data: null`.
            guard payload["data"] == nil, let errors = payload["errors"] else { return next(id, payload, nowMs) }
            return [.cancel(exchange: exchange)] + turnedAway(id, LinkMessage.errors(errors), nowMs)
        case "complete": return [.cancel(exchange: exchange)] + turnedAway(id, [], nowMs)
        case "invalidations": return invalidated(event.data)
        default: return []
        }
    }

    /// The server says what to drop from the cache, on each request that does not know it yet.
    private mutating func invalidated(_ told: [UInt8]) -> [LinkAction] {
        guard let invalidation = LinkMessage.invalidation(try? JSONParser.parse(told)),
            invalidation.position != invalidationPosition
        else { return [] }
        invalidationPosition = invalidation.position
        return [.invalidated(invalidation)]
    }

    /// A request was answered, or its stream ended.
    package mutating func answered(exchange: String, _ response: LinkResponse, nowMs: Int64) -> [LinkAction] {
        guard let id = feedBySubscription[exchange], let ready else { return [] }
        switch (ready.way, response.status) {
        case (.webSocket, _): return []
        case (.eventStreams, 200): return interrupted(id, .lost, "the server ended the stream", nowMs)
        case (.longPolls, 200), (.longPolls, 226), (.longPolls, 304): return polled(id, response, nowMs)
        default: return declined(id, response, nowMs)
        }
    }

    /// A request was not answered, or its stream broke off.
    package mutating func failed(exchange: String, _ end: LinkEnd, reason: String, nowMs: Int64) -> [LinkAction] {
        guard let id = feedBySubscription[exchange] else { return [] }
        return interrupted(id, end, reason, nowMs)
    }

    private mutating func polled(_ id: FeedID, _ response: LinkResponse, _ nowMs: Int64) -> [LinkAction] {
        var payload: JSONValue = ["extensions": ["unchanged": true]]
        if response.status != 304 {
            guard let body = try? JSONParser.parse(response.body, limits: JSONLimits(bytesMax: .max)) else {
                return interrupted(id, .refused(status: response.status), "the answer is no JSON", nowMs)
            }
            payload = response.status == 226 ? ["extensions": ["delta": ["patch": body]]] : body
        }
        let tag = response.tag.flatMap(Self.bare)
        if let tag, case .object(var object) = payload {
            var extensions = object["extensions"]?.objectValue ?? JSONObject()
            extensions["resume"] = .string(tag)
            object["extensions"] = .object(extensions)
            payload = .object(object)
        }
        var actions = heardFrom(id)
        let exchange = feeds[id]?.subscription
        feeds[id]?.pollTag = tag
        // A partial result has no document to confirm, and nothing to show again.
        let hasNews = response.status != 304 || (feeds[id]?.isConfirmed == false && feeds[id]?.document != nil)
        if hasNews { actions += next(id, payload, nowMs) }
        if let told = response.invalidations { actions += invalidated(Array(told.utf8)) }
        // Otherwise the answer made the feed begin again, or end.
        guard let feed = feeds[id], feed.subscription == exchange else { return actions }
        feedBySubscription[exchange ?? ""] = nil
        feeds[id]?.subscription = nil
        feeds[id]?.answerByMs = nil
        if feed.requestedAtMs + limits.pollMinMs <= nowMs { return actions + subscribe(id, nowMs) }
        feeds[id]?.retryAtMs = feed.requestedAtMs + limits.pollMinMs
        return actions
    }

    /// The text of an entity tag without quotes and weakness; nil for anything else.
    private static func bare(_ tag: String) -> String? {
        let strong = tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...]
        guard strong.count > 2, strong.hasPrefix("\""), strong.hasSuffix("\"") else { return nil }
        return String(strong.dropFirst().dropLast())
    }

    /// A request got another answer than a result: errors of the server, or the page of something in between.
    private mutating func declined(_ id: FeedID, _ response: LinkResponse, _ nowMs: Int64) -> [LinkAction] {
        let body = try? JSONParser.parse(response.body, limits: JSONLimits(bytesMax: .max))
        let errors = LinkMessage.errors(body?["errors"])
        guard !errors.isEmpty else {
            return interrupted(
                id, .refused(status: response.status), "the server answered with status \(response.status)",
                retryAfterMs: response.retryAfterMs, nowMs)
        }
        let actions = heardFrom(id)
        // A run that failed: the operation itself is not refused.
        if response.status >= 500 {
            return actions + later(id, FreshetError(errors, retryAfterMs: response.retryAfterMs), nowMs)
        }
        return actions + turnedAway(id, errors, retryAfterMs: response.retryAfterMs, nowMs)
    }

    /// Notes a sign of life of the server.
    private mutating func heardFrom(_ id: FeedID) -> [LinkAction] {
        feeds[id]?.isAnswered = true
        blockedCount = 0
        ready?.isProven = true
        guard ready?.isAnnounced == false else { return [] }
        ready?.isAnnounced = true
        return [.status(.connected)]
    }

    /// A request ended by itself. If others work, only its feed is concerned.
    private mutating func interrupted(
        _ id: FeedID, _ end: LinkEnd, _ reason: String, retryAfterMs: Int64? = nil, _ nowMs: Int64
    ) -> [LinkAction] {
        guard let ready else { return [] }
        let error = FreshetError(.offline, reason, retryAfterMs: retryAfterMs)
        if end != .unreachable, feeds.values.contains(where: \.isAnswered) { return later(id, error, nowMs) }
        let actions = closing(ready) + [.lost(error)]
        forgetLink()
        if attempt != nil { return actions }
        if !ready.isProven, end.isBlock, let next = blocked(nowMs) { return actions + next }
        return actions + retry(error, retryAfterMs: retryAfterMs, nowMs)
    }

    /// Gives up requests without a sign of life.
    mutating func silentExchanges(_ nowMs: Int64) -> [LinkAction] {
        var actions: [LinkAction] = []
        for id in feeds.keys.sorted() {
            guard let at = feeds[id]?.answerByMs, at <= nowMs, let exchange = feeds[id]?.subscription else { continue }
            actions.append(.cancel(exchange: exchange))
            actions += interrupted(id, .lost, "the server does not answer", nowMs)
        }
        return actions
    }
}

extension LinkRequest {
    /// The token, and up to where the client knows the history of invalidations.
    private static func common(_ token: String?, _ position: String?) -> [Header] {
        [Header(name: invalidationsHeader, value: position ?? "none")]
            + (token.map { [Header(name: "authorization", value: "Bearer " + $0)] } ?? [])
    }

    /// graphql-sse with a connection for each operation (docs/reference/protocols.md).
    fileprivate static func stream(
        _ request: FeedRequest, resume: String?, token: String?, invalidations: String?, timeoutMs: Int64
    ) -> LinkRequest {
        let headers = [
            Header(name: "accept", value: "text/event-stream"),
            Header(name: "content-type", value: "application/json"),
        ]
        return LinkRequest(
            form: .stream, method: "POST", path: "/graphql", headers: headers + common(token, invalidations),
            body: JSONWriter.compact(LinkMessage.payload(request, resume: resume)), timeoutMs: timeoutMs)
    }

    /// The plain resource. Without a wait it answers at once, otherwise when the result is another than the tag's.
    fileprivate static func poll(
        _ request: FeedRequest, tag: String?, token: String?, invalidations: String?, waitMs: Int64, timeoutMs: Int64
    ) -> LinkRequest {
        var headers = [Header(name: "accept", value: "application/json"), Header(name: "a-im", value: "json-patch")]
        if let tag { headers.append(Header(name: "if-none-match", value: "\"\(tag)\"")) }
        if waitMs > 0 { headers.append(Header(name: "prefer", value: "wait=\(waitMs / 1_000)")) }
        let variables = encoded(JSONWriter.compact(.object(request.variables)))
        return LinkRequest(
            form: .poll, method: "GET",
            path: "/v1/connectors/\(encoded(Array(request.connector.utf8)))/queries/"
                + "\(encoded(Array(request.operation.utf8)))?variables=\(variables)",
            headers: headers + common(token, invalidations), body: [], timeoutMs: timeoutMs)
    }

    /// All but unreserved characters percent-encoded (RFC 3986 section 2.3).
    private static func encoded(_ text: [UInt8]) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var result: [UInt8] = []
        for byte in text {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                result.append(byte)
            default: result += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
