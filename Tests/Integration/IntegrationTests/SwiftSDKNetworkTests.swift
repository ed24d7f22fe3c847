import AuctionsClient
import Chaos
import Foundation
import FreshetClient
import FreshetLink
import FreshetNIO
import FreshetURLSession
import NIOHTTP1
import ProtocolClients
import SeededRandom
import TestSupport
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The Swift SDK behind networks that cut links or do not let them through, against one node.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct SwiftSDKNetworkTests {
    @Test func theSDKResumesAndFallsBack() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try await Cluster.with { cluster in
            let node = try await cluster.start(
                roles: "api,worker,gateway,admin", settings: ["gateway.invalidationsPollMs=50"])
            let admin = try await AdminClient(node.process)
            try await aCutCostsOneSmallMessage(node.address.port, folder.path)
            try await queriesAreFollowed(node.address.port, behind: [.webSockets], admin)
            try await queriesAreFollowed(node.address.port, behind: [.webSockets, .eventStreams], admin)
            try await requestsTravelOverURLSession(node.address.port)
            try await pollsBehindTheHistoryDoNotWait(node.address)
        }
    }

    private func state<Operation: QueryOperation>(
        _ states: inout LiveResults<Operation>.Iterator, where fits: (LiveResult<Operation.Data>) -> Bool
    ) async throws -> LiveResult<Operation.Data> {
        while let state = try await states.next() {
            if fits(state) { return state }
        }
        throw FreshetError(.closed, "the sequence ended")
    }

    /// SDK specification §4 (2): a loss, or a restart of the app, costs one small message if nothing changed.
    private func aCutCostsOneSmallMessage(_ port: Int, _ folder: String) async throws {
        let proxy = try await PickyProxy.start(to: port)
        let direct = AuctionsConnector(at: "http://127.0.0.1:\(port)", cache: .off)
        func connector() -> AuctionsConnector {
            AuctionsConnector(at: "http://127.0.0.1:\(proxy.port)", cache: .persistent(directory: folder))
        }
        var auctions = connector()
        var states = auctions.listLots(category: "Clocks").live().makeAsyncIterator()
        let first = try await state(&states) { $0.isConfirmed }
        let lot = try #require(first.data?.lots.first)
        let whole = proxy.bytesToClient
        #expect(first.data?.lots.count == 10)

        func again(_ fits: (LiveResult<ListLots.Data>) -> Bool) async throws -> Int {
            let before = proxy.bytesToClient
            proxy.cut()
            _ = try await state(&states) { !$0.isConfirmed }
            proxy.heal()
            try await auctions.networkChanged()
            let resumed = try await state(&states) { $0.isConfirmed }
            #expect(fits(resumed))
            return proxy.bytesToClient - before
        }
        let unchanged = try await again { $0.data == first.data && $0.source == .server }

        // Something changed meanwhile: a patch against the result that the client holds.
        proxy.cut()
        _ = try await state(&states) { !$0.isConfirmed }
        _ = try await direct.editLot(id: lot.id, category: "Clocks", description: "meanwhile").run()
        let before = proxy.bytesToClient
        proxy.heal()
        try await auctions.networkChanged()
        _ = try await state(&states) { $0.isConfirmed && $0.data?.lots.first?.description == "meanwhile" }
        let changed = proxy.bytesToClient - before

        // The app starts again.
        try await auctions.link.engine().flush()
        try await auctions.stop()
        auctions = connector()
        let start = proxy.bytesToClient
        states = auctions.listLots(category: "Clocks").live().makeAsyncIterator()
        let cached = try await state(&states) { $0.data != nil }
        #expect(cached.source == .cache && cached.data?.lots.first?.description == "meanwhile")
        let restarted = try await state(&states) { $0.isConfirmed }
        #expect(restarted.data == cached.data && restarted.source == .server)
        let restart = proxy.bytesToClient - start
        print("bytes: first \(whole), unchanged \(unchanged), one row changed \(changed), restart \(restart)")
        // The handshake and the greeting are in each.
        #expect(unchanged < 500 && restart < 500 && changed < unchanged + 500 && whole > unchanged + 2_000)
        await proxy.stop()
    }

    /// The transport of Apple's systems, as far as Linux has it.
    private func requestsTravelOverURLSession(_ port: Int) async throws {
        let configuration = URLSessionTransport.configuration
        #expect(configuration.urlCache == nil && configuration.httpCookieStorage == nil)
        #expect(configuration.httpMaximumConnectionsPerHost > 100)
        func auctions(_ port: Int) -> AuctionsConnector {
            AuctionsConnector(
                link: ConnectorLink(AuctionsConnector.identity, at: "http://127.0.0.1:\(port)", cache: .off) {
                    URLSessionTransport($0)
                })
        }
        let lots = try await auctions(port).listLots(category: "Maps").get().data.lots
        let lot = try #require(lots.first)
        #expect(lots.count == 10)
        _ = try await auctions(port).editLot(id: lot.id, category: "Maps", description: "by URLSession").run()
        #expect(try await auctions(port).getLot(id: lot.id).get().data.lot?.description == "by URLSession")
        let away = await #expect(throws: FreshetError.self) { try await auctions(1).listLots().get() }
        #expect(away?.code == .offline)
    }

    /// A poll is answered at once if there are invalidations that its client asks for and does not know. Other clients
    /// see nothing of them.
    private func pollsBehindTheHistoryDoNotWait(_ address: ServerAddress) async throws {
        let path = "/v1/connectors/auctions/queries/ListLots?variables=%7B%7D"
        let plain = try await HTTPCall.send(.GET, address, path: path)
        #expect(plain.headers["freshet-invalidations"] == [])
        let tag = try #require(plain.headers.first(name: "etag"))
        let behind = try await HTTPCall.send(
            .GET, address, path: path,
            headers: ["if-none-match": tag, "prefer": "wait=20", "freshet-invalidations": "0-other"], timeoutMs: 15_000)
        let invalidations = behind.headers.first(name: "freshet-invalidations")
        #expect(behind.status == 304 && invalidations?.hasSuffix(#","drop":"everything"}"#) == true)
    }

    private static let seeds: [UInt64] = [7, 8, 9, 10]
    private static let rounds = 10

    /// The impairments of the chaos suite, in random order, on the links of several clients to two nodes, of which one
    /// drains halfway, with tokens that run out every few seconds. Each impairment is noticed, what changes meanwhile
    /// comes, no state goes back, and no live query ends.
    @Test func impairedLinksConverge() async throws {
        let settings = ["auth.mode=hs256", "auth.hs256Secret=\(Self.secret)"]
        try await Cluster.with { cluster in
            let first = try await cluster.start(roles: "api,worker,gateway", settings: settings)
            let second = try await cluster.start(roles: "api,gateway", settings: settings)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for seed in Self.seeds {
                    group.addTask {
                        try await converge(seed, first.address.port, second.address.port) { round in
                            guard seed == Self.seeds[0], round == Self.rounds / 2 else { return }
                            await second.process.terminate()
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    private static let secret = "0123456789abcdef0123456789abcdef"

    /// A client with its own user, link and faults.
    /// - Parameter ports: of the node that stays and of the other one.
    private func converge(
        _ seed: UInt64, _ port: Int, _ otherPort: Int, roundEnded: @escaping @Sendable (Int) async -> Void
    ) async throws {
        let user = "user\(seed)"
        let link = try await FaultyLink.start(to: port, otherPort)
        let direct = AuctionsConnector(
            at: "http://127.0.0.1:\(port)", cache: .off,
            auth: .token(TestTokens.signed(uid: user, secret: Self.secret)))
        let limits = LinkLimits(
            backoffMinMs: 20, backoffMaxMs: 200, stepMs: 500, silenceMs: 400, renewalRetryMs: 200,
            upgradeFirstMs: 100, upgradeMs: 300, pollWaitMs: 1_000)
        let auctions = AuctionsConnector(
            link: ConnectorLink(
                AuctionsConnector.identity, at: "http://127.0.0.1:\(link.port)", cache: .memory(),
                auth: .provider {
                    let inThreeSeconds = Int64(Date().timeIntervalSince1970) + 3
                    return TestTokens.signed(uid: user, secret: Self.secret, expiresAt: inThreeSeconds)
                },
                options: ConnectorOptions(), time: SystemTime(), limits: limits
            ) { try NIOTransport($0) })
        _ = try await direct.saveAccount(name: "0").run()
        var states = auctions.myAccount().live().makeAsyncIterator()
        var newest = 0
        /// Reads states until one fits.
        func read(_ what: String, where fits: (LiveResult<MyAccount.Data>) -> Bool) async throws {
            _ = try await state(&states) { state in
                let number = state.data?.user.flatMap { Int($0.name) } ?? newest
                #expect(number >= newest, "\(what): \(number) after \(newest)")
                newest = number
                return fits(state)
            }
        }
        try await read("seed \(seed), start") { $0.isConfirmed }
        var random = SeededRandom(seed: seed)
        for round in 1...Self.rounds {
            let impairments: [Fault.Impairment] = [.cut, .silent, .slow(delayMs: 100)]
            let impairment = impairments[random.below(3)]
            let what = "seed \(seed), round \(round), \(impairment)"
            await link.set(impairment)
            // By another device, or by this one, whose request waits for the network.
            var queued: QueuedResult<SaveAccount>?
            if random.below(2) == 0 {
                _ = try await direct.saveAccount(name: "\(round)").run()
            } else {
                queued = try await auctions.saveAccount(name: "\(round)").enqueue { _ in }
            }
            // A slow link delivers; the others are noticed.
            if case .slow = impairment {} else { try await read(what) { !$0.isConfirmed } }
            await link.set(nil)
            _ = try await queued?.value
            try await read(what) { $0.isConfirmed && $0.data?.user?.name == "\(round)" }
            await roundEnded(round)
        }
        await link.stop()
    }

    /// The network refuses WebSockets, or WebSockets and event streams: the same states come by other ways.
    private func queriesAreFollowed(
        _ port: Int, behind refusals: [PickyProxy.Refusal], _ admin: AdminClient
    ) async throws {
        let proxy = try await PickyProxy.start(to: port, refusing: refusals)
        let auctions = AuctionsConnector(
            at: "http://127.0.0.1:\(proxy.port)", cache: .memory(maxAge: .seconds(3_600)))
        var states = auctions.listLots(category: "Maps").live().makeAsyncIterator()
        let first = try await state(&states) { $0.isConfirmed }
        #expect(first.data?.lots.count == 10 && proxy.refusedCount == 2 * refusals.count)
        let lot = try #require(first.data?.lots.first)
        for number in 1...3 {
            let text = "\(refusals.count) \(number)"
            _ = try await auctions.editLot(id: lot.id, category: "Maps", description: text).run()
            let changed = try await state(&states) { $0.data?.lots.first?.description == text }
            #expect(changed.isConfirmed && changed.source == .server)
        }
        // Seed row 24: an operator has devices drop a row, which is fetched again where it is followed.
        _ = try await auctions.getLot(id: lot.id).get(.serverOnly)
        _ = try await admin.command(["invalidate", "--type", "Lot", "--key", lot.id.uuidString])
        try await waitUntil("the row to leave the cache") {
            (try? await auctions.getLot(id: lot.id).get(.cacheOnly)) == nil
        }
        try await waitUntil("the list to be there again") {
            (try? await auctions.listLots(category: "Maps").get(.cacheOnly))?.data.lots.count == 10
        }
        _ = try await auctions.editLot(id: lot.id, category: "Maps", description: "valid").run()
        _ = try await state(&states) { $0.isConfirmed && $0.data?.lots.first?.description == "valid" }
        let before = proxy.bytesToClient
        proxy.cut()
        let stale = try await state(&states) { !$0.isConfirmed }
        #expect(stale.error?.code == .offline)
        proxy.heal()
        try await auctions.networkChanged()
        _ = try await state(&states) { $0.isConfirmed }
        print("bytes after a cut behind \(refusals): \(proxy.bytesToClient - before)")
        #expect(proxy.bytesToClient - before < 1_000, "resumed, not sent whole")
        // Once the network lets them through, the link goes back to WebSockets, without a loss.
        proxy.refuse([])
        try await auctions.networkChanged()
        let text = "\(refusals.count) again"
        _ = try await auctions.editLot(id: lot.id, category: "Maps", description: text).run()
        while let state = try await states.next() {
            #expect(state.isConfirmed)
            if state.data?.lots.first?.description == text { break }
        }
        await proxy.stop()
    }
}
