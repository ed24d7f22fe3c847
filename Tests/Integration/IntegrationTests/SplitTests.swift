import Foundation
import JSON
import NIOHTTP1
import ProtocolClients
import Synchronization
import TestSupport
import Testing

/// Splits of a hot operation and other overrides, given to real processes under load.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct SplitTests {
    static let hot = "auctions/GetLot"

    @Test func splitsChangeUnderMutationsWithoutAMissOrAStepBack() async throws {
        try await Cluster.with { cluster in
            let apis = [
                try await cluster.start(roles: "api,admin"), try await cluster.start(roles: "api"),
            ]
            _ = try await cluster.start(roles: "worker")
            _ = try await cluster.start(roles: "worker")
            let gateways = [try await cluster.start(roles: "gateway"), try await cluster.start(roles: "gateway")]
            let admin = try await AdminClient(apis[0].process)
            let ids = try await Self.lots(apis[0].address, count: 24)
            var screens: [Screen] = []
            for gateway in gateways {
                screens.append(try await Screen.open(gateway.address, ids))
            }
            let isOver = Flag()
            let writing = Task {
                var number = 0
                while !isOver.isSet {
                    number += 1
                    let id = ids[number % ids.count]
                    try await Self.write(apis[number % 2].address, id, number)
                }
                // Every lot once more, so that the last word is known.
                for id in ids {
                    number += 1
                    try await Self.write(apis[number % 2].address, id, number)
                }
                return number
            }
            for splits in [8, 3, 16, 1, 4] {
                let answer = try await admin.post("operations/\(Self.hot)/splits?count=\(splits)")
                #expect(answer.status == 200, "\(answer.body)")
                // Done when the live queries are where they belong: as many shards have some as there are splits.
                try await admin.wait("shards") { answer in
                    let used = answer.rows("shards").filter { ($0["liveQueries"]?.intValue ?? 0) > 0 }
                    let count = used.reduce(0) { $0 + ($1["liveQueries"]?.intValue ?? 0) }
                    return count == Int64(ids.count) && used.count <= splits && (splits == 1 || used.count > 1)
                }
                for screen in screens { try await screen.sawMoreThan(try await Self.lastWritten(apis[0].address, ids)) }
            }
            isOver.set()
            let last = try await writing.value
            #expect(last > ids.count)
            let truth = try await Self.truth(apis[0].address, ids)
            for screen in screens {
                try await screen.wait(for: truth)
                #expect(screen.stepsBack == [])
            }
            let overrides = try await admin.get("overrides")
            let row = try #require(overrides.rows("overrides").first)
            #expect(row["override"]?.stringValue == "splits" && row["target"]?.stringValue == Self.hot)
            #expect(row["value"]?.intValue == 4 && row["shards"]?.arrayValue?.count == 4)
            #expect((row["receiving"]?.intValue ?? 0) >= 4)
            let former = try await admin.get("orders")
            #expect(former["generation"] == overrides["generation"])
            let formerRow = try #require(former.rows("orders").first)
            #expect(formerRow["order"] == row["override"] && formerRow["of"] == row["target"])
            #expect(formerRow["heard"] == row["receiving"] && formerRow["shards"] == row["shards"])
            let status = try await admin.get("status")
            #expect(status["overridesGeneration"] == overrides["generation"])
            #expect(status["ordersGeneration"] == overrides["generation"])
            // A tag from one placement, taken to another after a change that only the others saw.
            try await tagsDoNotOutliveTheirPlacement(apis[0].address, gateways[1].address, admin, ids[0])
        }
    }

    private func tagsDoNotOutliveTheirPlacement(
        _ api: ServerAddress, _ gateway: ServerAddress, _ admin: AdminClient, _ id: String
    ) async throws {
        let key: JSONObject = ["id": .string(id)]
        let first = try await API.get(gateway, "GetLot", key, headers: ["prefer": "wait=5"])
        let tag = try #require(first.headers.first(name: "etag"))
        for splits in [7, 2, 7] {
            #expect(try await admin.post("operations/\(Self.hot)/splits?count=\(splits)").status == 200)
        }
        try await Self.write(api, id, 1_000_000)
        let news = try await API.get(
            gateway, "GetLot", key, headers: ["if-none-match": tag, "prefer": "wait=20"])
        #expect(news.status == 200)
        #expect(Self.number(try JSONParser.parse(news.body)["data"] ?? .null) == 1_000_000)
    }

    // MARK: Lots

    static func lots(_ address: ServerAddress, count: Int) async throws -> [String] {
        var ids: [String] = []
        for category in ["Books", "Hi-Fi", "Toys"] {
            let answer = try await API.get(address, "ListLots", ["category": .string(category)])
            ids += (try JSONParser.parse(answer.body)["data"]?["lots"]?.arrayValue ?? [])
                .compactMap { $0["id"]?.stringValue }
        }
        return Array(try #require(ids.count >= count ? ids : nil).prefix(count))
    }

    static func write(_ address: ServerAddress, _ id: String, _ number: Int) async throws {
        let answer = try await API.mutate(
            address, "EditLot",
            ["id": .string(id), "category": "Books", "description": .string("number \(number)")])
        #expect(answer.status == 200, "\(answer.body)")
    }

    /// The number that was written last, according to the result.
    static func number(_ data: JSONValue) -> Int? {
        let text = data["lot"]?["description"]?.stringValue ?? ""
        return text.hasPrefix("number ") ? Int(text.dropFirst(7)) : nil
    }

    static func truth(_ address: ServerAddress, _ ids: [String]) async throws -> [String: Int] {
        var truth: [String: Int] = [:]
        for id in ids {
            let answer = try await API.get(address, "GetLot", ["id": .string(id)])
            truth[id] = Self.number(try JSONParser.parse(answer.body)["data"] ?? .null)
        }
        return truth
    }

    static func lastWritten(_ address: ServerAddress, _ ids: [String]) async throws -> Int {
        try await truth(address, ids).values.max() ?? 0
    }
}

final class Flag: Sendable {
    private let state = Mutex(false)
    var isSet: Bool { state.withLock { $0 } }
    func set() { state.withLock { $0 = true } }
}

/// One socket that follows lots, and what it saw of each.
final class Screen: Sendable {
    private struct State {
        var shown: [String: Int] = [:]
        var stepsBack: [String] = []
        var error: String?
    }

    private let state = Mutex(State())
    private let subscriber: Subscriber

    private init(_ subscriber: Subscriber) { self.subscriber = subscriber }

    static func open(_ address: ServerAddress, _ ids: [String]) async throws -> Screen {
        let screen = Screen(try await Subscriber.connect(address))
        for id in ids { screen.subscriber.subscribe("GetLot", ["id": .string(id)], id: id) }
        Task { await screen.read() }
        return screen
    }

    private func read() async {
        do {
            while true {
                let message = try await subscriber.message { $0["type"]?.stringValue == "next" }
                guard let id = message["id"]?.stringValue, let data = message["payload"]?["data"],
                    let number = SplitTests.number(data)
                else { continue }
                state.withLock { state in
                    if let former = state.shown[id], number < former {
                        state.stepsBack.append("\(id): \(number) after \(former)")
                    }
                    state.shown[id] = number
                }
            }
        } catch {
            state.withLock { $0.error = "\(error)" }
        }
    }

    var stepsBack: [String] { state.withLock { $0.stepsBack } }

    /// Waits until something newer than `number` is shown.
    func sawMoreThan(_ number: Int) async throws {
        try await waitUntil("more than \(number)") { state.withLock { $0.shown.values.max() ?? 0 } > number }
    }

    /// Waits until exactly this is shown.
    func wait(for truth: [String: Int]) async throws {
        try await waitUntil("\(truth)") {
            if let error = state.withLock({ $0.error }) { throw UnexpectedEnd(output: error) }
            return state.withLock { $0.shown } == truth
        }
    }
}
