import FreshetLink
import FreshetTypes
import JSON
import JSONPatch
import SeededRandom
import TestSupport
import Testing

/// Random sequences against a server in a few lines: whatever happens, a followed query ends up with the server's
/// result, nothing arrives for one that is not followed, and a wait that is over shows what was there when it began.
@Suite struct LinkRandomTests {
    /// The server's side of one link, and its documents.
    private struct Server {
        /// A number that changes, by feed.
        var values: [Int: Int64] = [:]
        var token = 0
        var link: Int?
        var isGreeted = false
        /// Feed and the value last sent, by subscription.
        var subscriptions: [String: (feed: Int, sent: Int64?)] = [:]
        /// The same by request, without a WebSocket.
        var exchanges: [String: (feed: Int, sent: Int64?, isStream: Bool)] = [:]
        /// Requests that nobody answers.
        var unanswered: Set<String> = []
        /// The end of the history of invalidations.
        var position = 0
        /// Waits that are to be answered.
        var waits: [(link: Int, id: String)] = []

        func document(_ value: Int64) -> JSONValue {
            [
                "lots": [["id": "a", "price": .int(value)], ["id": "b", "price": .int(value / 3)]],
                "n": .int(value % 5),
            ]
        }
    }

    private struct Run {
        var random: SeededRandom
        var driver: LinkDriver
        var server = Server()
        var followed: Set<Int> = []
        /// The last document that the app got, by feed; nil after a loss.
        var shown: [Int: JSONValue?] = [:]
        var nextFeed = 0
        /// The values so far, by feed.
        var history: [Int: [Int64]] = [:]
        /// The number of values that the feeds of each wait had had when it began.
        var waits: [Int: [Int: Int]] = [:]
        var nextWait = 0
        var fulfilled = 0

        init(seed: UInt64) {
            random = SeededRandom(seed: seed)
            driver = LinkDriver(
                limits: LinkLimits(
                    backoffMinMs: 10, backoffMaxMs: 100, stepMs: 50, silenceMs: 500, idleMs: 20, upgradeFirstMs: 100,
                    upgradeMs: 300,
                    pollWaitMs: 200, pollMinMs: 2, waitMs: 400, waitsMax: 4, waitsAskedMax: 2),
                seed: seed)
        }

        /// The server's document of a feed.
        func expected(_ feed: Int) -> JSONValue? { server.values[feed].map(server.document) }

        /// Performs what the machine wants.
        mutating func perform(mayFail: Bool) {
            var rounds = 0
            while case let actions = driver.take(), !actions.isEmpty {
                rounds += 1
                #expect(rounds < 10_000, "the machine never comes to rest")
                for action in actions { perform(action, mayFail) }
            }
        }

        private mutating func perform(_ action: LinkAction, _ mayFail: Bool) {
            switch action {
            case .fetchToken:
                if mayFail, random.below(8) == 0 {
                    driver.actions += driver.machine.tokenFailed(
                        FreshetError(.unauthenticated, "none"), nowMs: driver.nowMs)
                } else {
                    server.token += 1
                    driver.tokenReady("T\(server.token)", renewInMs: Int64(random.below(400)))
                }
            case .open(let link):
                switch mayFail ? random.below(6) : 5 {
                case 0:
                    let ends: [LinkEnd] = [.unreachable, .refused(status: 403), .lost]
                    driver.closed(
                        link, nil, "refused", retryAfterMs: random.below(2) == 0 ? nil : 30, end: ends[random.below(3)])
                case 1: break  // Nobody answers.
                default: driver.opened(link)
                }
            case .send(let link, let bytes): arrived(link, (try? JSONParser.parse(bytes)) ?? .null, mayFail)
            case .close(let link, _): if server.link == link { server.link = nil }
            case .request(let exchange, let request): arrived(exchange, request, mayFail)
            case .cancel(let exchange): server.exchanges[exchange] = nil
            case .result(let id, let data, _, _):
                #expect(followed.contains(id.number), "a result for a feed that is not followed")
                shown[id.number] = data
            case .failed(let id, _), .ended(let id, _):
                shown[id.number] = .some(nil)
                if case .ended = action { followed.remove(id.number) }
            case .lost: for id in followed { shown[id] = .some(nil) }
            case .status: break
            case .waited(let id, let error): waited(id, error)
            case .invalidated(let invalidation):
                #expect(invalidation.position == "\(server.position)-m")
                // As an app whose cache showed the named row in every result.
                for id in followed.sorted() {
                    let actions = driver.machine.discard(FeedID(id), nowMs: driver.nowMs)
                    if !actions.isEmpty { shown[id] = .some(nil) }
                    driver.actions += actions
                }
            }
        }

        private mutating func arrived(_ link: Int, _ message: JSONValue, _ mayFail: Bool) {
            switch message["type"]?.stringValue {
            case "connection_init":
                if mayFail, random.below(8) == 0 { return driver.closed(link, 4403, "Forbidden") }
                (server.link, server.subscriptions) = (link, [:])
                driver.received(link, ["type": "connection_ack"])
            case "ping":
                if let id = message["payload"]?["freshet"]?["wait"]?["id"]?.stringValue {
                    switch mayFail ? random.below(4) : 3 {
                    case 0: break  // Nobody answers.
                    case 1, 2: server.waits.append((link, id))
                    default: answerWait(link, id)
                    }
                    return
                }
                if !mayFail || random.below(3) > 0 { driver.received(link, ["type": "pong"]) }
            case "subscribe":
                guard server.link == link, let id = message["id"]?.stringValue,
                    let feed = message["payload"]?["operationName"]?.stringValue.flatMap({ Int($0.dropFirst()) })
                else { return }
                if mayFail, random.below(10) == 0 {
                    return driver.received(
                        link,
                        [
                            "id": .string(id), "type": "error",
                            "payload": [["message": "later", "extensions": ["code": "UNAVAILABLE"]]],
                        ])
                }
                let resume = message["payload"]?["extensions"]?["resume"]?.stringValue
                if let value = server.values[feed], resume == Self.tag(value) {
                    server.subscriptions[id] = (feed, value)
                    driver.next(link, id, ["extensions": ["resume": .string(Self.tag(value)), "unchanged": true]])
                } else {
                    server.subscriptions[id] = (feed, Self.value(resume))
                    deliver(id)
                }
            case "complete":
                if let id = message["id"]?.stringValue { server.subscriptions[id] = nil }
            default: break
            }
        }

        /// The resume tag of a value.
        private static func tag(_ value: Int64) -> String { "t\(value)" }
        private static func value(_ tag: String?) -> Int64? { tag.flatMap { Int64($0.dropFirst()) } }

        /// Answers behind everything that the link's subscriptions lack.
        private mutating func answerWait(_ link: Int, _ id: String) {
            guard server.link == link else { return }
            for id in server.subscriptions.keys.sorted() { deliver(id) }
            var waited: JSONObject = ["id": .string(id)]
            if random.below(8) == 0 { waited["error"] = ["code": "TIMEOUT", "message": "late"] }
            driver.received(link, ["type": "pong", "payload": ["freshet": ["waited": .object(waited)]]])
        }

        mutating func answerWaits() {
            defer { server.waits = [] }
            for (link, id) in server.waits { answerWait(link, id) }
        }

        mutating func wait() {
            nextWait += 1
            waits[nextWait] = followed.reduce(into: [:]) { $0[$1] = history[$1]?.count ?? 0 }
            driver.actions += driver.machine.wait(nextWait, for: nil, nowMs: driver.nowMs)
        }

        private mutating func waited(_ id: Int, _ error: FreshetError?) {
            guard let known = waits.removeValue(forKey: id) else {
                Issue.record("wait \(id) ends twice")
                return
            }
            if error != nil { return }
            fulfilled += 1
            for (feed, count) in known where followed.contains(feed) {
                // Not after an error, or a loss.
                guard let shown = shown[feed] ?? nil else { continue }
                let present = history[feed]?.dropFirst(count - 1).map(server.document) ?? []
                #expect(present.contains(shown), "feed \(feed) shows a value of before wait \(id)")
            }
        }

        private mutating func change(_ feed: Int, to value: Int64) {
            server.values[feed] = value
            history[feed, default: []].append(value)
        }

        private mutating func arrived(_ exchange: String, _ request: LinkRequest, _ mayFail: Bool) {
            switch mayFail ? random.below(8) : 7 {
            case 0: return driver.failed(exchange, .unreachable)
            case 1: return driver.failed(exchange, .lost)
            case 2: return driver.answered(exchange, 502)
            case 3:
                server.unanswered.insert(exchange)
                return
            default: break
            }
            let isStream = request.form == .stream
            let body = try? JSONParser.parse(request.body)
            let name =
                isStream
                ? body?["operationName"]?.stringValue
                : request.path.split(separator: "/")[4].split(separator: "?").first.map(String.init)
            guard let feed = name.flatMap({ Int($0.dropFirst()) }) else { return }
            let header = request.headers.first { $0.name == "if-none-match" }?.value
            let held =
                isStream
                ? body?["extensions"]?["resume"]?.stringValue : header.map { String($0.dropFirst().dropLast()) }
            server.exchanges[exchange] = (feed, Self.value(held), isStream)
            if isStream { driver.streamed(exchange, ":\n\n") }
            if let value = server.values[feed], held == Self.tag(value) {
                if isStream {
                    let payload = "{\"extensions\":{\"resume\":\"t\(value)\",\"unchanged\":true}}"
                    driver.streamed(exchange, "event: next\ndata: \(payload)\n\n")
                } else if !request.headers.contains(where: { $0.name == "prefer" }) {
                    server.exchanges[exchange] = nil
                    driver.answered(exchange, 304, tag: "t\(value)")
                }
            } else {
                deliver(to: exchange)
            }
        }

        /// Sends a stream or a poll the present value.
        mutating func deliver(to exchange: String) {
            guard let (feed, sent, isStream) = server.exchanges[exchange], let value = server.values[feed],
                sent != value
            else { return }
            let document: JSONValue = ["data": server.document(value)]
            let patch = sent.flatMap { difference(from: $0, to: value) }
            if isStream {
                server.exchanges[exchange]?.sent = value
                var payload: JSONObject = patch == nil ? (document.objectValue ?? [:]) : [:]
                var extensions: JSONObject = ["resume": .string("t\(value)")]
                if let patch { extensions["delta"] = ["patch": patch] }
                payload["extensions"] = .object(extensions)
                driver.streamed(exchange, "event: next\ndata: \(JSONValue.object(payload))\n\n")
            } else {
                server.exchanges[exchange] = nil
                driver.answered(exchange, patch == nil ? 200 : 226, patch ?? document, tag: "t\(value)")
            }
        }

        private mutating func difference(from sent: Int64, to value: Int64) -> JSONValue? {
            guard random.below(3) > 0 else { return nil }
            return JSONPatch.difference(
                from: JSONWriter.compact(server.document(sent)), to: JSONWriter.compact(server.document(value)),
                at: "/data", limits: JSONPatch.Limits(bytesMax: 10_000)
            ).flatMap { try? JSONParser.parse($0) }
        }

        /// Sends a subscription the present value, whole or as a patch, with or without its tag.
        mutating func deliver(_ id: String) {
            guard let link = server.link, let subscription = server.subscriptions[id],
                let value = server.values[subscription.feed], subscription.sent != value
            else { return }
            server.subscriptions[id]?.sent = value
            var extensions: JSONObject = [:]
            if random.below(4) > 0 { extensions["resume"] = .string(Self.tag(value)) }
            if let sent = subscription.sent, let patch = difference(from: sent, to: value) {
                extensions["delta"] = ["patch": patch]
                driver.next(link, id, ["extensions": .object(extensions)])
            } else {
                driver.next(link, id, ["data": server.document(value), "extensions": .object(extensions)])
            }
        }

        mutating func step() {
            switch random.below(14) {
            case 0, 1:
                nextFeed += 1
                change(nextFeed, to: 1)
                followed.insert(nextFeed)
                shown[nextFeed] = .some(nil)
                driver.follow(nextFeed, "Q\(nextFeed)")
            case 2:
                guard let id = followed.sorted().first else { return }
                followed.remove(id)
                driver.unfollow(id)
            case 3, 4, 5:
                guard nextFeed > 0 else { return }
                let feed = 1 + random.below(nextFeed)
                change(feed, to: Int64(random.below(1_000)))
                for id in server.subscriptions.keys.sorted() where server.subscriptions[id]?.feed == feed {
                    deliver(id)
                }
                for exchange in server.exchanges.keys.sorted() where server.exchanges[exchange]?.feed == feed {
                    deliver(to: exchange)
                }
            case 6:
                if let exchange = server.exchanges.keys.sorted().first {
                    server.exchanges[exchange] = nil
                    if random.below(2) == 0 { driver.failed(exchange, .lost) } else { driver.answered(exchange, 200) }
                }
                guard let link = server.link else { return }
                server.link = nil
                let codes: [UInt16?] = [nil, 1001, 1013, 4403]
                driver.closed(link, codes[random.below(4)], "")
            case 7:
                // A new value as a patch that fits nothing, from a base that the client does not hold.
                guard let link = server.link, let id = server.subscriptions.keys.sorted().first,
                    let feed = server.subscriptions[id]?.feed
                else { return }
                let value = Int64(1_000 + random.below(1_000))
                change(feed, to: value)
                server.subscriptions[id]?.sent = value
                driver.next(
                    link, id, ["extensions": ["delta": ["patch": [["op": "remove", "path": "/data/none"]]]]])
            case 8:
                guard let link = server.link else { return }
                server.position += 1
                let told: JSONValue = ["position": .string("\(server.position)-m"), "drop": "everything"]
                driver.received(link, ["type": "ping", "payload": ["freshet": ["invalidations": told]]])
            case 9, 10: wait()
            case 11: answerWaits()
            default: driver.advance()
            }
        }
    }

    @Test func everyFollowedQueryEndsUpWithTheServersResult() {
        var fulfilled = 0
        for seed in 0..<UInt64(10_000 * FuzzLength.factor) {
            var run = Run(seed: seed)
            for _ in 0..<25 {
                run.step()
                run.perform(mayFail: true)
            }
            // Calm: nothing fails any more, and time goes on until the link is up.
            run.answerWaits()
            for exchange in run.server.unanswered.sorted() { run.driver.failed(exchange, .lost) }
            for _ in 0..<200 {
                run.perform(mayFail: false)
                // A long-poll brings a change only with the next request.
                if run.driver.machine.isReady, run.followed.allSatisfy({ run.shown[$0] == .some(run.expected($0)) }) {
                    break
                }
                run.driver.advance()
            }
            run.perform(mayFail: false)
            for id in run.followed {
                #expect(run.shown[id] == .some(run.expected(id)), "seed \(seed), feed \(id)")
            }
            #expect(run.driver.machine.feedCount == run.followed.count, "seed \(seed)")
            for _ in 0..<50 where run.driver.machine.waitCount > 0 {
                run.driver.advance()
                run.perform(mayFail: false)
            }
            #expect(run.driver.machine.waitCount == 0 && run.waits.isEmpty, "seed \(seed)")
            fulfilled += run.fulfilled
            #expect(run.driver.machine.heldCount <= 2 * run.followed.count, "seed \(seed)")
        }
        #expect(fulfilled > 1_000)
    }
}
