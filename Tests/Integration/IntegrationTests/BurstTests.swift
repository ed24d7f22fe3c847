import JSON
import ProtocolClients
import Testing

/// Many operations that one client starts at once: each has an answer, though few of a session run at a time.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct BurstTests {
    private static let secret = "0123456789abcdef0123456789abcdef"

    @Test(arguments: ["socket", "graphql", "grpc"])
    func manySubscriptionsAndOperationsAtOnce(_ kind: String) async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(
                roles: "api,worker,gateway",
                settings: [
                    "auth.mode=hs256", "auth.hs256Secret=\(Self.secret)", "gateway.executesPerSessionMax=4",
                ])
            let url = "http://\(node.address.host):\(node.address.port)"
            let token = TestTokens.signed(uid: "ann", secret: Self.secret)
            try await PythonClients.run("burst_client.py", [kind, url, token])
        }
    }

    /// Operations of a session wait in the order in which they came; only a full queue refuses.
    @Test func operationsWaitInOrderUntilTheQueueIsFull() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(
                roles: "api,worker,gateway",
                settings: ["gateway.executesPerSessionMax=1", "gateway.executesWaitingMax=20"])
            let id = try await SplitTests.lots(node.address, count: 1)[0]
            let session = try await Subscriber.connect(node.address)
            let count = 40
            for number in 0..<count {
                session.subscribe(
                    "EditLot",
                    ["id": .string(id), "category": "Books", "description": .string("number \(number)")],
                    id: "\(number)")
            }
            var done: [Int] = []
            var refused: [Int] = []
            while done.count + refused.count < count {
                let message = try await session.message { $0["type"] == "next" || $0["type"] == "error" }
                let number = try #require(message["id"]?.stringValue.flatMap { Int($0) })
                if message["type"] == "next" {
                    done.append(number)
                } else {
                    #expect(message.description.contains("LIMIT_EXCEEDED"), "\(message)")
                    refused.append(number)
                }
            }
            #expect(done == done.sorted() && done.count >= 21, "\(done)")
            let last = try #require(done.last)
            let truth = try await SplitTests.truth(node.address, [id])
            #expect(truth[id] == last)
        }
    }
}
