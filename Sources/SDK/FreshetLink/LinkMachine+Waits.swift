package import FreshetTypes
import JSON

// Waits until the feeds show what was committed: a `ping` asks the server, which answers behind the results
// (docs/reference/protocols.md). Only over a WebSocket, where results and answer have one order.

extension LinkMachine {
    struct Wait: Sendable {
        let position: MutationPosition?
        let deadlineMs: Int64
        /// The feeds when the server was asked on the present link; nil: it was not.
        var asked: Set<FeedID>?
        /// The feeds that owe their first answer on the link; nil: the server has not answered the wait.
        var behind: Set<FeedID>?
        /// When the server is asked again that could not be waited for; nil: it is not known to be busy.
        var askAgainAtMs: Int64?
        var pace: ReconnectPace
    }

    package var waitCount: Int { waits.count }

    /// Waits until every feed that is followed now shows what was committed before.
    /// - Parameter position: the mutation's; nil: what the cluster knows by now.
    package mutating func wait(_ id: WaitID, for position: MutationPosition?, nowMs: Int64) -> [LinkAction] {
        if isStopped { return [.waited(id, FreshetError(.closed, "the connector was stopped"))] }
        if feeds.isEmpty { return [.waited(id, nil)] }
        guard waits.count < limits.waitsMax else {
            return [.waited(id, FreshetError(.unavailable, "\(limits.waitsMax) waits are under way already"))]
        }
        seed &+= 1
        waits[id] = Wait(
            position: position, deadlineMs: nowMs + limits.waitMs, pace: ReconnectPace(seed: seed))
        return askWaits()
    }

    /// Nobody waits any more.
    package mutating func endWait(_ id: WaitID) -> [LinkAction] {
        waits.removeValue(forKey: id) == nil ? [] : askWaits()
    }

    /// Asks the server for those for which it was not asked yet, or fails them where it cannot be asked.
    mutating func askWaits() -> [LinkAction] {
        guard let ready, !waits.isEmpty else { return [] }
        guard ready.way == .webSocket else {
            return failWaits(
                FreshetError(.unsupported, "without a WebSocket nothing says when results are up to date"))
        }
        var actions: [LinkAction] = []
        var room = limits.waitsAskedMax - waits.values.count { $0.asked != nil }
        for id in waits.keys.sorted() where room > 0 && waits[id]?.asked == nil && waits[id]?.askAgainAtMs == nil {
            room -= 1
            waits[id]?.asked = Set(feeds.keys)
            actions.append(.send(link: ready.link, LinkMessage.wait(id: id, waits[id]?.position)))
        }
        return actions
    }

    /// Handles the payload of a pong.
    mutating func ponged(_ payload: JSONValue?, _ nowMs: Int64) -> [LinkAction] {
        if let id = payload?["freshet"]?["wait"]?["id"]?.stringValue.flatMap({ WaitID($0) }) {
            // An echo, as of a server that knows no waits.
            return ended(id, FreshetError(.unsupported, "the server is too old to be waited for"))
        }
        guard let waited = payload?["freshet"]?["waited"],
            let id = waited["id"]?.stringValue.flatMap({ WaitID($0) }), let asked = waits[id]?.asked
        else { return [] }
        if let error = waited["error"] {
            let response = ResponseError(
                message: error["message"]?.stringValue ?? "the wait failed", code: error["code"]?.stringValue)
            let failure = FreshetError([response])
            if let code = response.code, Self.busyCodes.contains(code) {
                waits[id]?.asked = nil
                let delayMs = waits[id]?.pace.delayMs(limits, retryAfterMs: failure.retryAfterMs)
                waits[id]?.askAgainAtMs = delayMs.map { nowMs + $0 }
                return askWaits()
            }
            let isLate = response.code == "TIMEOUT"
            return ended(
                id, isLate ? FreshetError(.timeout, failure.message, serverCode: response.code) : failure)
        }
        let behind = asked.filter { feeds[$0].map { $0.subscription != nil && !$0.isAnswered } ?? false }
        if behind.isEmpty { return ended(id, nil) }
        waits[id]?.behind = behind
        return []
    }

    /// Codes after which the server may be asked again.
    private static let busyCodes: Set<String> = ["LIMIT_EXCEEDED", "UNAVAILABLE"]

    /// Asks again for those for which the server was busy.
    mutating func repeatWaits(_ nowMs: Int64) -> [LinkAction] {
        let due = waits.filter { ($0.value.askAgainAtMs ?? .max) <= nowMs }
        for id in due.keys { waits[id]?.askAgainAtMs = nil }
        return due.isEmpty ? [] : askWaits()
    }

    private mutating func ended(_ id: WaitID, _ error: FreshetError?) -> [LinkAction] {
        guard waits.removeValue(forKey: id) != nil else { return [] }
        return [.waited(id, error)] + askWaits()
    }

    /// A feed was answered, or ended: nobody waits for its first answer any more.
    mutating func settled(_ id: FeedID) -> [LinkAction] {
        if waits.isEmpty { return [] }
        if feeds.isEmpty { return failWaits(nil) }
        if let feed = feeds[id], feed.subscription != nil, !feed.isAnswered { return [] }
        var actions: [LinkAction] = []
        for wait in waits.keys.sorted() {
            guard waits[wait]?.behind?.remove(id) != nil, waits[wait]?.behind?.isEmpty == true else { continue }
            actions += ended(wait, nil)
        }
        return actions
    }

    /// Ends all waits, with an error or because nothing is followed any more.
    mutating func failWaits(_ error: FreshetError?) -> [LinkAction] {
        defer { waits = [:] }
        return waits.keys.sorted().map { .waited($0, error) }
    }

    /// The link is gone: its successor asks again. Positions stay valid.
    mutating func forgetAskedWaits() {
        for id in waits.keys {
            waits[id]?.asked = nil
            waits[id]?.behind = nil
            waits[id]?.askAgainAtMs = nil
        }
    }

    mutating func lateWaits(_ nowMs: Int64) -> [LinkAction] {
        var actions: [LinkAction] = []
        for id in waits.keys.sorted() where (waits[id]?.deadlineMs ?? .max) <= nowMs {
            actions += ended(id, FreshetError(.timeout, "the server has not said in time that results are up to date"))
        }
        return actions
    }
}
