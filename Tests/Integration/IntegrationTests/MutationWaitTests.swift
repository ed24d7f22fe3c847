import AuctionsClient
import Foundation
import FreshetClient
import JSON
import LiveModel
import LocalServers
import Logging
import Postgres
import ProtocolClients
import TestSupport
import Testing

/// Clients wait until their live queries show a mutation that another node committed.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct MutationWaitTests {
    private static let category = "Clocks"

    /// The description that a connector's list shows now.
    private static func shown(_ auctions: AuctionsConnector) async throws -> String? {
        try await auctions.listLots(category: .value(category)).get(.cacheOnly).data.lots.first?.description
    }

    private static func followed(_ auctions: AuctionsConnector) async throws -> (
        states: LiveResults<ListLots>.Iterator, lot: UUID
    ) {
        var states = auctions.listLots(category: .value(category)).live().makeAsyncIterator()
        while let state = try await states.next() {
            if state.isConfirmed, let lot = state.data?.lots.first { return (states, lot.id) }
        }
        throw FreshetError(.closed, "the sequence ended")
    }

    /// Many times over: after the wait, the list shows the change, without any further wait.
    @Test(arguments: ["table", "wal"]) func aLiveQueryShowsAMutationAfterTheWait(outbox: String) async throws {
        try await Cluster.with { cluster in
            cluster.environment["FRESHET_OUTBOX_KIND"] = outbox
            let back = try await cluster.start(roles: "api,worker")
            let front = try await cluster.start(roles: "api,gateway")
            let auctions = AuctionsConnector(at: "\(front.address)", cache: .memory())
            let writer = AuctionsConnector(at: "\(back.address)", cache: .off)
            let (states, lot) = try await Self.followed(auctions)
            let plain = try await Subscriber.connect(front.address)
            plain.subscribe("GetLot", ["id": lot.variableValue.json])
            for number in 0..<40 {
                let edit = try await writer.editLot(
                    id: lot, category: Self.category, description: "edit \(number)"
                ).run()
                let position = try #require(edit.position)
                if number % 4 == 3 {
                    try await Self.expectInOrder(plain, position, "edit \(number)")
                } else {
                    try await auctions.wait(for: position)
                    #expect(try await Self.shown(auctions) == "edit \(number)")
                }
            }
            // Several at a time, of which most share a ticket.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        let question = try await writer.askQuestion(
                            lotId: lot, name: "Ann", text: "Question \(number)?"
                        ).run()
                        try await auctions.wait(for: question.position)
                    }
                }
                try await group.waitForAll()
            }
            // One that is long since known, one that never was, and none.
            let unknown = MutationPosition(rawValue: UUID().uuidString)
            for position in [unknown, nil] { try await auctions.wait(for: position) }
            #expect(try await Self.shown(auctions)?.hasPrefix("edit 3") == true)
            withExtendedLifetime(states) {}
            plain.socket.close()
        }
    }

    /// The result comes before the pong.
    private static func expectInOrder(
        _ plain: Subscriber, _ position: MutationPosition, _ description: String
    ) async throws {
        let id = position.rawValue
        plain.send([
            "type": "ping", "payload": ["freshet": ["wait": ["id": .string(id), "position": .string(id)]]],
        ])
        var last: String?
        let pong = try await plain.message { message in
            if let lot = message["payload"]?["data"]?["lot"] { last = lot["description"]?.stringValue }
            return message["type"] == "pong"
        }
        #expect(pong["payload"] == ["freshet": ["waited": ["id": .string(id)]]])
        #expect(last == description, "the pong has overtaken the result")
    }

    /// While nobody serves the shard a wait lasts, and it fails after its time; with another owner it goes on.
    @Test func aWaitLastsThroughATakeOver() async throws {
        try await Cluster.with { cluster in
            let settings = ["gateway.waitTimeoutMs=3000"]
            let first = try await cluster.start(roles: "worker")
            let front = try await cluster.start(roles: "api,gateway", settings: settings)
            let auctions = AuctionsConnector(at: "\(front.address)", cache: .memory())
            let (states, lot) = try await Self.followed(auctions)
            func edit(_ text: String) async throws -> MutationPosition? {
                try await auctions.editLot(id: lot, category: Self.category, description: text).run().position
            }
            try await auctions.wait(for: try await edit("before"))
            #expect(try await Self.shown(auctions) == "before")

            let position = try await edit("killed")
            await first.process.crash()
            let late = try await edit("late")
            let error = await #expect(throws: FreshetError.self) { try await auctions.wait(for: late) }
            #expect(error?.code == .timeout && error?.serverCode == "TIMEOUT")
            // Each attempt is answered rightly, or not at all.
            _ = try cluster.launch(roles: "worker")
            var attempts = 0
            while true {
                attempts += 1
                do throws(FreshetError) {
                    try await auctions.wait(for: position)
                    break
                } catch {
                    #expect(error.code == .timeout)
                }
            }
            #expect(try await Self.shown(auctions) == "late", "after \(attempts) attempts")
            withExtendedLifetime(states) {}
        }
    }

    /// A mutation whose node died between commit and publication: the wait publishes its event.
    @Test func anEventThatNobodyPublishedIsPublished() async throws {
        try await Cluster.with { cluster in
            let settings = ["outbox.sweepAgeMs=120000"]
            let node = try await cluster.start(roles: "api,worker,gateway", settings: settings)
            let auctions = AuctionsConnector(at: "\(node.address)", cache: .memory())
            let (states, lot) = try await Self.followed(auctions)
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            let pool = PostgresPool(
                configuration: PostgresConfiguration(connectionString: cluster.servers.postgres.connectionString),
                logger: logger)
            try await pool.start()
            let id = UUID().uuidString.lowercased()
            let event = MutationEvent(
                id: id, operation: OperationReference(connector: "auctions", operation: "EditLot"),
                variables: ["id": lot.variableValue.json, "category": .string(Self.category)], auth: .null,
                keysWritten: [], traceID: "", committedAtMs: 0)
            let update: Statement = "UPDATE lot SET description = 'by hand' WHERE id = $1::uuid"
            let insert: Statement =
                "INSERT INTO freshet.outbox (id, created_at, shards, event) VALUES ($1::uuid, now(), '{0}', $2::text)"
            _ = try await pool.transaction([
                (update, [.text(lot.uuidString)]), (insert, [.text(id), .binary(event.encoded)]),
            ])
            #expect(try await Self.shown(auctions) != "by hand")
            try await auctions.wait(for: MutationPosition(rawValue: id))
            #expect(try await Self.shown(auctions) == "by hand")
            await pool.stop()
            withExtendedLifetime(states) {}
        }
    }
}
