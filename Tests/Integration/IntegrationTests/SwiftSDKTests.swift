import AuctionsClient
import Foundation
import FreshetClient
import FreshetStore
import JSON
import NIOHTTP1
import ProtocolClients
import TestSupport
import Testing

/// The Swift SDK against nodes: the whole path of docs/clients/swift.md.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct SwiftSDKTests {
    private static let secret = "0123456789abcdef0123456789abcdef"
    private static let auth = ["auth.mode=hs256", "auth.hs256Secret=\(secret)"]

    private func withCluster(_ body: (Cluster, String) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try await Cluster.with { try await body($0, folder.path) }
    }

    private func state<Operation: QueryOperation>(
        _ states: inout LiveResults<Operation>.Iterator, where fits: (LiveResult<Operation.Data>) -> Bool
    ) async throws -> LiveResult<Operation.Data> {
        while let state = try await states.next() {
            if fits(state) { return state }
        }
        throw FreshetError(.closed, "the sequence ended")
    }

    /// Live list, one row changed by a mutation, and the ids of rows that the server sends to SQL Connect clients.
    @Test func aLiveListFollowsMutations() async throws {
        try await withCluster { cluster, _ in
            let node = try await cluster.start(roles: "api,worker,gateway")
            let auctions = AuctionsConnector(at: "\(node.address)", cache: .memory())
            var states = auctions.listLots(category: "Clocks").live().makeAsyncIterator()
            let first = try await state(&states) { $0.isConfirmed }
            let lot = try #require(first.data?.lots.first)
            #expect(first.data?.lots.count == 10)
            _ = try await auctions.editLot(id: lot.id, category: "Clocks", description: "by the SDK").run()
            let changed = try await state(&states) { $0.data?.lots.first?.description == "by the SDK" }
            #expect(changed.isConfirmed && changed.source == .server)
            // One more change, which comes as a patch on the same subscription.
            _ = try await auctions.editLot(id: lot.id, category: "Clocks", description: "once more").run()
            _ = try await state(&states) { $0.data?.lots.first?.description == "once more" }

            let single = try await auctions.getLot(id: lot.id).get(.serverOnly)
            #expect(single.data.lot?.description == "once more")
            // Refused by the server, with its code.
            let error = await #expect(throws: FreshetError.self) { try await auctions.myAccount().get(.serverOnly) }
            #expect(error?.code == .unauthenticated)
            // Rolled back by the database: an error, not an answer with null, run at once and from the queue.
            let question = auctions.askQuestion(lotId: UUID(), name: "Ann", text: "Which lot is this?")
            let violation = await #expect(throws: FreshetError.self) { try await question.run() }
            #expect(violation?.code == .refused && violation?.serverCode == "CONSTRAINT_VIOLATION")
            var outcomes = try await auctions.queueEvents.makeAsyncIterator()
            _ = try await question.enqueue()
            let outcome = try #require(await outcomes.next()?.outcome)
            let queued = #expect(throws: FreshetError.self) { try outcome.get() }
            #expect(queued?.serverCode == "CONSTRAINT_VIOLATION")

            let response = try await HTTPCall.send(
                .POST, node.address,
                path: "/v1/projects/p/locations/us-central1/services/auctions/connectors/auctions:executeQuery",
                headers: ["content-type": "application/json"],
                body: JSONWriter.compact([
                    "operationName": "LotBids", "variables": ["lotId": lot.id.variableValue.json],
                ]))
            let body = try JSONParser.parse(response.body)
            let entries = try #require(body["extensions"]?["dataConnect"]?.arrayValue)
            let bids = try #require(body["data"]?["bids"]?.arrayValue)
            let sent = entries.first { $0["path"] == ["bids"] }?["entityIds"]?.arrayValue
            let computed = bids.map {
                JSONValue.string(EntityID(type: "Bid", key: [$0["id"] ?? .null]).description)
            }
            #expect(sent == computed && (!bids.isEmpty || sent == nil))
            let page = try await HTTPCall.send(
                .POST, node.address,
                path: "/v1/projects/p/locations/us-central1/services/auctions/connectors/auctions:executeQuery",
                headers: ["content-type": "application/json"],
                body: JSONWriter.compact(["operationName": "GetLot", "variables": ["id": lot.id.variableValue.json]]))
            let id = try JSONParser.parse(page.body)["extensions"]?["dataConnect"]?[0]?["entityId"]
            #expect(id?.stringValue == EntityID(LotKey(id: lot.id)).description)
        }
    }

    /// The answer to a queued mutation comes before or after the result that shows it: a synced snapshot shows it.
    @Test func syncedSnapshotsShowWhatWasApplied() async throws {
        try await withCluster { cluster, _ in
            let node = try await cluster.start(roles: "api,worker,gateway")
            let auctions = AuctionsConnector(at: "\(node.address)", cache: .memory())
            var snapshots = auctions.observeQuery(auctions.listLots(category: "Clocks"), \.lots).makeAsyncIterator()
            var first: ListLots.Data.Lot?
            while let snapshot = try await snapshots.next() {
                first = snapshot.items.first
                if snapshot.isSynced { break }
            }
            let lot = try #require(first)
            for number in 1...20 {
                // Nothing is expected, so only a result of the server shows it. A state of before is not read: the
                // newest one has the mutation pending.
                let edit = auctions.editLot(id: lot.id, category: "Clocks", description: "edit \(number)")
                _ = try await edit.enqueue().value
                while let snapshot = try await snapshots.next() {
                    guard snapshot.isSynced else { continue }
                    let edited = snapshot.items.first { $0.id == lot.id }
                    #expect(edited?.description == "edit \(number)")
                    break
                }
            }
        }
    }

    /// The node is killed and comes back: the loss is shown, and what changed meanwhile comes.
    @Test func aLostNodeIsShownAndTheQueryGoesOn() async throws {
        try await withCluster { cluster, _ in
            let node = try await cluster.start(roles: "api,worker,gateway")
            let port = node.address.port
            let auctions = AuctionsConnector(at: "\(node.address)", cache: .memory())
            var states = auctions.listLots(category: "Maps").live().makeAsyncIterator()
            let first = try await state(&states) { $0.isConfirmed }
            let lot = try #require(first.data?.lots.first)
            await node.process.crash()
            let stale = try await state(&states) { !$0.isConfirmed }
            #expect(stale.data == first.data && stale.error?.code == .offline && stale.staleSince != nil)
            _ = try await cluster.start(roles: "api,worker,gateway", settings: ["http.port=\(port)"])
            let other = AuctionsConnector(at: "\(node.address)", cache: .off)
            _ = try await other.editLot(id: lot.id, category: "Maps", description: "meanwhile").run()
            try await auctions.networkChanged()
            let fresh = try await state(&states) {
                $0.isConfirmed && $0.data?.lots.first?.description == "meanwhile"
            }
            #expect(fresh.error == nil)
        }
    }

    /// Seed row 24: an operator has all devices drop a row: those that are connected, to any gateway, and those that
    /// come back. Others see nothing of it.
    @Test func invalidatedRowsLeaveEveryCache() async throws {
        try await withCluster { cluster, folder in
            let settings = ["gateway.invalidationsPollMs=50", "gateway.invalidationsMax=3"]
            let one = try await cluster.start(roles: "api,worker,gateway,admin", settings: settings)
            let two = try await cluster.start(roles: "api,gateway", settings: settings)
            let admin = try await AdminClient(one.process)
            func device(_ name: String, at address: ServerAddress) -> AuctionsConnector {
                AuctionsConnector(
                    at: "\(address)", cache: .persistent(maxAge: .seconds(3_600), directory: folder + "/" + name))
            }
            func isCached(_ device: AuctionsConnector, _ lot: UUID) async -> Bool {
                (try? await device.getLot(id: lot).get(.cacheOnly)) != nil
            }
            let here = device("here", at: one.address)
            let there = device("there", at: two.address)
            let plain = try await Subscriber.connect(two.address)
            let ids = try await SplitTests.lots(one.address, count: 2)
            let (lot, kept) = (try #require(Self.uuid(ids[0])), try #require(Self.uuid(ids[1])))
            var states = [here, there].map { $0.listLots(category: "Clocks").live().makeAsyncIterator() }
            for index in states.indices { _ = try await state(&states[index]) { $0.isConfirmed } }
            var followed = there.getLot(id: lot).live().makeAsyncIterator()
            let followedFirst = try await state(&followed) { $0.isConfirmed }
            for device in [here, there] {
                for id in [lot, kept] { _ = try await device.getLot(id: id).get(.serverOnly) }
            }

            // A device that is away; its file stays.
            do {
                let away = device("away", at: two.address)
                var list = away.listLots(category: "Clocks").live().makeAsyncIterator()
                _ = try await state(&list) { $0.isConfirmed }
                for id in [lot, kept] { _ = try await away.getLot(id: id).get(.serverOnly) }
                try await away.stop()
            }

            let said = try await admin.command(["invalidate", "--type", "Lot", "--key", lot.uuidString])
            #expect(said.contains("clients drop the row Lot"), "\(said)")
            try await waitUntil("the row to leave the cache of its gateway's client") { await !isCached(here, lot) }
            #expect(await isCached(here, kept))
            // What is followed is fetched again, and is in the cache after that.
            let fetchedAt = try #require(followedFirst.fetchedAt)
            _ = try await state(&followed) { $0.isConfirmed && $0.fetchedAt.map { $0 > fetchedAt } == true }
            #expect(await isCached(there, lot))
            #expect(await isCached(there, kept))

            // The device returns: it still shows the list that it had, and drops the row.
            let back = device("away", at: two.address)
            #expect(await isCached(back, lot))
            #expect(await isCached(back, kept))
            var list = back.listLots(category: "Clocks").live().makeAsyncIterator()
            _ = try await state(&list) { $0.isConfirmed }
            try await waitUntil("the row to leave the cache of a returning client") { await !isCached(back, lot) }
            #expect(await isCached(back, kept))

            // An operation, then more than the history keeps: a device that was away for it drops everything.
            try await back.stop()
            for operation in ["GetLot", "ListLots", "LotBids", "ClosingSoon", "TopBidders"] {
                let answer = try await admin.post("v1/invalidations?operation=auctions/\(operation)")
                #expect(answer.status == 200, "\(answer.body)")
            }
            try await waitUntil("the operation's results to be gone") { await !isCached(here, kept) }
            let late = device("away", at: two.address)
            #expect(await isCached(late, kept))
            var last = late.listLots(category: "Maps").live().makeAsyncIterator()
            _ = try await state(&last) { $0.isConfirmed }
            try await waitUntil("everything to be gone") { await !isCached(late, kept) }

            // Clients of others are sent nothing.
            plain.send(["type": "ping"])
            #expect(try await plain.message { _ in true }["type"] == "pong")
            for (path, status) in [
                ("type=Lot", 400), ("type=Lot&key=x", 400), ("type=Nothing&key=x", 404), ("type=Lot&key=[1,2]", 400),
                ("operation=auctions/EditLot", 404), ("connector=nobody", 404), ("connector=auctions", 200), ("", 400),
            ] {
                let answer = try await admin.post("v1/invalidations?\(path)")
                #expect(answer.status == status, "\(path): \(answer.body)")
            }
        }
    }

    /// A UUID as results have it, without dashes.
    private static func uuid(_ text: String) -> UUID? {
        var text = text
        for offset in [8, 13, 18, 23] where text.count >= offset {
            text.insert("-", at: text.index(text.startIndex, offsetBy: offset))
        }
        return UUID(uuidString: text)
    }

    /// Tokens of a few seconds: each is renewed before it ends, and no state is unconfirmed.
    @Test func tokensAreRenewedWithoutALoss() async throws {
        try await withCluster { cluster, _ in
            let node = try await cluster.start(roles: "api,worker,gateway", settings: Self.auth)
            let tokens = TokenCount()
            let auth = AuthSource.provider {
                let now = Int64(Date().timeIntervalSince1970)
                tokens.add()
                return TestTokens.signed(uid: "ann", secret: Self.secret, expiresAt: now + 4)
            }
            let auctions = AuctionsConnector(at: "\(node.address)", cache: .memory(), auth: auth)
            _ = try await auctions.saveAccount(name: "Ann 0").run()
            var states = auctions.myAccount().live().makeAsyncIterator()
            _ = try await state(&states) { $0.isConfirmed }
            var number = 0
            let before = tokens.value
            while tokens.value < before + 3 {
                number += 1
                _ = try await auctions.saveAccount(name: "Ann \(number)").run()
                while let state = try await states.next() {
                    #expect(state.isConfirmed, "\(String(describing: state.error))")
                    if state.data?.user?.name == "Ann \(number)" { break }
                }
            }
            #expect(number > 2)
        }
    }

    /// Another user's data is neither shown nor lost, with tokens that the server verifies.
    @Test func usersAreApart() async throws {
        try await withCluster { cluster, folder in
            let node = try await cluster.start(roles: "api,worker,gateway", settings: Self.auth)
            let user = CurrentUser("ann", secret: Self.secret)
            let auctions = AuctionsConnector(
                at: "\(node.address)", cache: .persistent(maxAge: .seconds(600), directory: folder), auth: user.auth)
            _ = try await auctions.saveAccount(name: "Ann").run()
            var states = auctions.myAccount().live().makeAsyncIterator()
            _ = try await state(&states) { $0.data?.user?.name == "Ann" }
            user.become("bob")
            try await auctions.authChanged()
            let error = await #expect(throws: FreshetError.self) { while try await states.next() != nil {} }
            #expect(error?.code == .userChanged)
            let notCached = await #expect(throws: FreshetError.self) { try await auctions.myAccount().get(.cacheOnly) }
            #expect(notCached?.code == .notCached)
            #expect(try await auctions.myAccount().get().data.user == nil)
            user.become("ann")
            try await auctions.authChanged()
            #expect(try await auctions.myAccount().get(.cacheOnly).data.user?.name == "Ann")
        }
    }

    /// Waits for the list in the app's file: it is written a moment after it is shown.
    static func untilStored(_ folder: String, _ server: ServerAddress, _ token: String? = nil) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < deadline {
            let reader = AuctionsConnector(
                at: "\(server)", cache: .persistent(directory: folder), auth: token.map { .token($0) } ?? .none)
            let stored = try? await reader.listLots(category: "Clocks").get(.cacheOnly)
            if stored?.data.lots.count == 10 { return }
            try await Task.sleep(for: .milliseconds(20))
        }
        throw FreshetError(.notCached, "the app stored no list")
    }

    /// The sample app: a list that survives a kill, and a bid that is made offline, survives a kill and arrives once.
    @Test func theSampleAppKeepsItsListAndItsBids() async throws {
        try await withCluster { cluster, folder in
            let node = try await cluster.start(roles: "api,worker,gateway", settings: Self.auth)
            let token = TestTokens.signed(uid: "zoe", secret: Self.secret)
            let options = [
                "--server", "\(node.address)", "--category", "Clocks", "--token", token, "--directory", folder,
            ]
            let auctions = AuctionsConnector(at: "\(node.address)", cache: .off, auth: .token(token))
            _ = try await auctions.saveAccount(name: "Zoe").run()
            let executable = URL(fileURLWithPath: Repository.freshet).deletingLastPathComponent()
                .appendingPathComponent("auction-watcher").path
            let first = try FreshetProcess(options, executable: executable)
            _ = try await first.line(containing: "10 lots (live)")
            try await Self.untilStored(folder, node.address, token)
            await first.crash()
            await node.process.crash()

            let input = folder + "/input"
            try "bid 1 50000\n".write(toFile: input, atomically: true, encoding: .utf8)
            let arguments = options.map { "'\($0)'" }.joined(separator: " ")
            let offline = try FreshetProcess(
                ["-c", "exec '\(executable)' \(arguments) < '\(input)'"], executable: "/bin/sh")
            _ = try await offline.line(containing: "lots (not confirmed")
            _ = try await offline.line(containing: "is kept")
            _ = try await offline.line(containing: "bids are waiting")
            await offline.crash()

            _ = try await cluster.start(
                roles: "api,worker,gateway", settings: Self.auth + ["http.port=\(node.address.port)"])
            let last = try FreshetProcess(options, executable: executable)
            _ = try await last.line(containing: "PlaceBid: done")
            let shown = try await last.line(containing: "50000 €")
            #expect(shown.hasPrefix("1. "))
            await last.crash()
            let again = AuctionsConnector(at: "\(node.address)", cache: .off)
            let lots = try await again.listLots(category: "Clocks").get(.serverOnly).data.lots
            let lot = try #require(lots.first { $0.highestBid == 50_000 })
            let bids = try await again.lotBids(lotId: lot.id).get(.serverOnly).data.bids
            #expect(bids.filter { $0.amount == 50_000 }.count == 1)
        }
    }
}

/// The user that the test has signed in.
private final class CurrentUser: @unchecked Sendable {
    // Every access to `name` holds `lock`.
    private let lock = NSLock()
    private var name: String
    private let secret: String

    init(_ name: String, secret: String) {
        self.name = name
        self.secret = secret
    }

    func become(_ name: String) { lock.withLock { self.name = name } }

    var auth: AuthSource {
        .provider { [self] in TestTokens.signed(uid: lock.withLock { name }, secret: secret) }
    }
}

/// Counts tokens from any thread.
private final class TokenCount: @unchecked Sendable {
    // Every access to `count` holds `lock`.
    private let lock = NSLock()
    private var count = 0

    func add() { lock.withLock { count += 1 } }
    var value: Int { lock.withLock { count } }
}
