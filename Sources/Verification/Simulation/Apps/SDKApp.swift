import FreshetLink
import FreshetStore
import FreshetTypes
import JSON
import LiveModel
import SeededRandom

/// An app with the Swift SDK: its link, over text messages to gateways, and its cache, performed as `Engine` does. The
/// cache survives a restart of the app, as its file does.
final class SDKApp {
    private struct Feed {
        let query: Workload.ClientQuery
        let key: ResultKey
        var isConfirmed = false
    }

    private static let silenceMs: Int64 = 1_500
    /// The time in which an app notices that a link is gone: a ping goes out, and is not answered.
    private static let noticeMs = 2 * silenceMs + 100
    private static let apart: Set<String> = ["Group", "Mine"]
    private static let revision = "1"
    private static let tokenLifeMs: ClosedRange<Int64> = 8_000...40_000
    private static let storeBytesMax = 100_000

    private unowned let world: World
    let number: Int
    private let user: String
    private let queries: [Workload.ClientQuery]
    private var random: SeededRandom
    private var link: LinkMachine
    private var store = StoreMachine(bytesMax: storeBytesMax)
    private var feeds: [FeedID: Feed] = [:]
    private var lastFeed = 0
    /// The sockets of links that the machine has, by their numbers.
    private var sockets: [Int: SimulatedSocket] = [:]
    private var run = 0
    private var timerAtMs: Int64?
    /// The results before the newest ones; only the `newerTagKept` mistake has them.
    private var former: [ResultKey: JSONValue] = [:]
    /// The number of results that came.
    private(set) var answers = 0

    init(_ number: Int, _ world: World) {
        self.world = world
        self.number = number
        random = SeededRandom(seed: world.seed, stream: UInt64(number))
        user = Workload.users[number % Workload.users.count]
        let isOwn = { [user] (query: Workload.ClientQuery) in query.uid == nil || query.uid == user }
        // Every second app has results without common rows: their tags outlive each other's changes.
        let own = Workload.clientQueries.filter {
            isOwn($0) && (number.isMultiple(of: 2) ? $0.operation != "Late" : Self.apart.contains($0.operation))
        }
        queries = Array(own.shuffled(using: &random).prefix(5))
        link = LinkMachine(limits: Self.limits(world.sabotage), seed: random.next())
    }

    private static func limits(_ sabotage: Sabotage?) -> LinkLimits {
        LinkLimits(
            backoffMinMs: 50, backoffMaxMs: 1_000, stepMs: 2_000,
            silenceMs: sabotage == .silenceTrusted ? 100 * silenceMs : silenceMs, idleMs: 2_000, renewalRetryMs: 500,
            // The simulated network lets WebSockets through.
            blockedMax: .max)
    }

    private var timeline: Timeline { world.timeline }
    private var nowMs: Int64 { timeline.nowMs }
    private func pick(_ range: ClosedRange<Int64>) -> Int64 { Int64.random(in: range, using: &random) }

    // MARK: The app

    func start() { for query in queries { follow(query) } }

    private func follow(_ query: Workload.ClientQuery) {
        guard !feeds.values.contains(where: { $0.query == query }) else { return }
        lastFeed += 1
        let id = FeedID(lastFeed)
        let key = ResultKey(operation: query.operation, variables: JSONValue.object(query.variables).text)
        feeds[id] = Feed(query: query, key: key)
        store.follow(key)
        let held = store.tagged(key, revision: Self.revision).map {
            HeldResult(tag: $0.tag, data: former[key] ?? $0.document)
        }
        perform(
            link.follow(
                id, FeedRequest(connector: "c", operation: query.operation, variables: query.variables), held: held,
                nowMs: nowMs))
    }

    private func unfollow(_ id: FeedID) {
        guard let feed = feeds.removeValue(forKey: id) else { return }
        _ = store.unfollow(feed.key)
        perform(link.unfollow(id, nowMs: nowMs))
    }

    /// Leaves one live query for a while.
    func leaveOne(forMs: Int64) {
        guard let id = feeds.keys.sorted().randomElement(using: &random), let query = feeds[id]?.query else { return }
        unfollow(id)
        timeline.after(forMs) { [self] in if world.isOpen { follow(query) } }
    }

    func leaveAll() { for id in feeds.keys.sorted() { unfollow(id) } }

    /// Ends the app without notice, and starts it again.
    func restart(afterMs: Int64) {
        world.note("app\(number) ends")
        run += 1
        let open = sockets.sorted { $0.key < $1.key }.map(\.value)
        sockets = [:]
        for socket in open { socket.breakOff() }
        for key in feeds.values.map(\.key).sorted() { _ = store.unfollow(key) }
        (feeds, timerAtMs) = ([:], nil)
        link = LinkMachine(limits: Self.limits(world.sabotage), seed: random.next())
        world.lastLossMs = nowMs
        timeline.after(afterMs) { [self, run] in if world.isOpen, self.run == run { start() } }
    }

    /// Loses its link without a sign.
    func loseTouch() {
        guard let socket else { return }
        socket.vanish()
        timeline.after(Self.noticeMs) { [self] in
            if sockets[socket.link] === socket {
                world.violated("silence: app \(number) uses a link that is gone for \(Self.noticeMs) ms")
            }
        }
    }

    func networkChanged() { perform(link.networkChanged(nowMs: nowMs)) }

    /// The socket in use, which is older than one that is about to take over.
    var socket: SimulatedSocket? { sockets.min { $0.key < $1.key }?.value }

    // MARK: From the network

    func opened(_ socket: SimulatedSocket) {
        guard sockets[socket.link] === socket else { return }
        perform(link.opened(link: socket.link, nowMs: nowMs))
    }

    func closed(_ socket: SimulatedSocket, code: UInt16?, reason: String) {
        guard sockets[socket.link] === socket else { return }
        sockets[socket.link] = nil
        world.note("app\(number) lost link \(socket.link): \(code.map(String.init) ?? "-") \(reason)")
        perform(link.closed(link: socket.link, code: code, reason: reason, nowMs: nowMs))
    }

    /// - Parameter digest: of the result that the app is to have after this message.
    func received(_ socket: SimulatedSocket, _ text: [UInt8], digest: Digest?) {
        guard sockets[socket.link] === socket else { return }
        world.note("app\(number) <- \(String(decoding: text, as: UTF8.self))")
        let actions = link.received(link: socket.link, text, nowMs: nowMs)
        for case .result(let id, let data, _, _) in actions {
            check(data, of: id, through: socket, digest)
        }
        perform(actions)
    }

    private func check(_ data: JSONValue, of id: FeedID, through socket: SimulatedSocket, _ digest: Digest?) {
        guard let query = feeds[id]?.query else { return }
        // A result that was confirmed may be known from another client.
        if let sent = digest.flatMap({ world.documents[$0] }), sent != data {
            world.violated("delta: app \(number) got \(data.text), meant was \(sent.text)")
        }
        let identity = SimulatedPostgres.identity(of: socket.query(query))
        if data["identity"]?.stringValue != identity {
            world.violated("isolation: app \(number) with \(identity) got \(data.text)")
        }
    }

    // MARK: Effects of the link

    private func perform(_ actions: [LinkAction]) {
        for action in actions {
            switch action {
            case .fetchToken: fetchToken()
            case .open(let number): open(number)
            case .send(let number, let text):
                if isSent(text, number) { sockets[number]?.send(text) }
            case .close(let number, _): sockets.removeValue(forKey: number)?.closeByApp()
            case .result(let id, let data, _, let tag): received(id, data, tag)
            case .failed(let id, _): feeds[id]?.isConfirmed = false
            case .ended(let id, let error): world.violated("delta: app \(self.number), feed \(id) ended: \(error)")
            case .lost: lost()
            case .status(.reconnecting): lost()
            case .status: break
            case .request, .cancel, .invalidated, .waited: preconditionFailure("\(action) is not simulated")
            }
        }
        if !link.isReady, feeds.values.contains(where: \.isConfirmed) {
            world.violated("confirmed: app \(number) has no link and says that its results are confirmed")
        }
        reschedule()
    }

    /// Whether an app with this mistake sends the message.
    private func isSent(_ text: [UInt8], _ number: Int) -> Bool {
        guard world.sabotage == .notSubscribedAgain, number > 1 else { return true }
        return (try? JSONParser.parse(text))?["type"] != "subscribe"
    }

    private func fetchToken() {
        timeline.after(pick(0...30)) { [self, run] in
            guard self.run == run else { return }
            let lifeMs = pick(Self.tokenLifeMs)
            let token = SimulatedToken(uid: user, expiresAtMs: nowMs + lifeMs)
            perform(link.tokenReady(token.text, renewInMs: lifeMs / 2, nowMs: nowMs))
        }
    }

    private func open(_ number: Int) {
        guard let gateway = world.anyGateway() else {
            timeline.after(pick(5...500)) { [self, run] in
                guard self.run == run else { return }
                perform(link.closed(link: number, code: nil, reason: "no gateway", end: .unreachable, nowMs: nowMs))
            }
            return
        }
        let socket = SimulatedSocket(self, link: number, gateway)
        sockets[number] = socket
        gateway.accept(socket)
        socket.open()
    }

    private func received(_ id: FeedID, _ data: JSONValue, _ tag: String?) {
        guard let key = feeds[id]?.key else { return }
        answers += 1
        feeds[id]?.isConfirmed = true
        if world.sabotage == .newerTagKept { former[key] = store.read(key, revision: Self.revision)?.document }
        _ = store.write(key, data, SimulatedDocument.shape, revision: Self.revision, atMs: nowMs, tag: tag)
    }

    private func lost() {
        world.lastLossMs = nowMs
        guard world.sabotage != .lossUnreported else { return }
        for id in feeds.keys { feeds[id]?.isConfirmed = false }
    }

    private func reschedule() {
        guard link.deadlineMs != timerAtMs else { return }
        timerAtMs = link.deadlineMs
        guard let atMs = timerAtMs else { return }
        // Later than now: a deadline that stays in the past must not stop the time.
        timeline.at(max(atMs, nowMs + 1)) { [self, run] in
            guard self.run == run, timerAtMs == atMs else { return }
            timerAtMs = nil
            perform(link.tick(nowMs: nowMs))
        }
    }

    // MARK: Checks

    /// Checks that the app shows the truth, confirmed, once peace has lasted.
    func checkConvergence() {
        if feeds.count != queries.count { world.violated("convergence: app \(number) follows \(feeds.count) queries") }
        for (id, feed) in feeds.sorted(by: { $0.key < $1.key }) {
            guard let socket, socket.gateway.isUp, feed.isConfirmed else {
                world.violated("convergence: app \(number), feed \(id) is not confirmed")
                continue
            }
            let truth = SimulatedDocument.json(world.postgres.result(of: socket.query(feed.query)))
            let shown = store.read(feed.key, revision: Self.revision)?.document
            if shown != truth {
                world.violated("convergence: app \(number) shows \(shown?.text ?? "nothing"), true is \(truth.text)")
            }
        }
    }

    /// Checks that nothing is held once the app has left all live queries.
    func checkNothingIsLeft() {
        if link.heldCount + store.pinCount + sockets.count > 0 {
            world.violated("left over: \(link.heldCount) feeds, \(sockets.count) sockets at app \(number)")
        }
    }
}
