import Foundation
import JSON
import LocalServers
import NIOHTTP1
import ProtocolClients
import TestSupport
import Testing

/// Mutations that leave their events in the database's log alone (`outbox.kind: wal`), whatever happens to its reader
/// and its slot. No query of the project refreshes by the log.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct EventLogTests {
    private static let wal = "outbox.kind=wal"
    private static let reader = ["tailer.standbyMs=100", "tailer.silenceMs=2000"]

    private func withCluster(
        postgres: [String: String] = [:], _ body: (Cluster, PostgresOperator) async throws -> Void
    ) async throws {
        try await Cluster.with(postgres: postgres) { cluster in
            // Otherwise the workers' own verification would deliver what the log does not tell.
            cluster.environment["FRESHET_WORKER_VERIFY_PER_SECOND"] = "0"
            try await body(cluster, try PostgresOperator(cluster.servers.postgres))
        }
    }

    /// A client that follows the lots of a category.
    private struct Follower {
        let subscriber: Subscriber
        let lot: JSONValue

        static func follow(_ address: ServerAddress) async throws -> Follower {
            let subscriber = try await Subscriber.connect(address)
            subscriber.subscribe("ListLots", ["category": "Toys"])
            let first = try await subscriber.data()
            return Follower(subscriber: subscriber, lot: try #require(first["lots"]?[0]?["id"]))
        }

        func edit(_ text: String, at address: ServerAddress) async throws {
            let edit: JSONObject = ["id": lot, "category": "Toys", "description": .string(text)]
            #expect(try await API.mutate(address, "EditLot", edit).status == 200)
        }

        func sees(_ text: String) async throws {
            _ = try await subscriber.data { data in
                (data["lots"]?.arrayValue ?? []).contains { $0["description"]?.stringValue == text }
            }
        }
    }

    private static let written =
        "SELECT n_tup_ins FROM pg_stat_user_tables WHERE relid = 'freshet.outbox'::regclass"

    @Test func eventsReachTheStreamsWithoutAnOutboxRow() async throws {
        try await withCluster { cluster, sql in
            // The reader's node has the table as its outbox: the record of the slot tells it.
            let back = try await cluster.start(roles: "worker,admin", settings: ["tailer.inspectMs=200"])
            let front = try await cluster.start(roles: "api,gateway", settings: [Self.wal, "lag.markerEveryMs=500"])
            let toys = try await Follower.follow(front.address)
            for number in 0..<20 {
                try await toys.edit("edit \(number)", at: front.address)
                try await toys.sees("edit \(number)")
            }
            try sql.run("SELECT pg_stat_force_next_flush()")
            #expect(try sql.run(Self.written) == "0")
            #expect(try sql.run("SELECT carries_events FROM freshet.change_slots") == "t")
            // Markers go the same way.
            let admin = try #require(back.admin)
            while true {
                let metrics = try await HTTPCall.send(.GET, admin, path: "/metrics").body
                let text = String(decoding: metrics, as: UTF8.self)
                if text.contains("freshet_tailer_reading 1"), text.contains("freshet_tailer_events_total"),
                    !text.contains("freshet_tailer_events_total 0")
                {
                    break
                }
                try Task.checkCancellation()
            }
            // The database's own clients may leave anything there.
            try sql.run("SELECT pg_logical_emit_message(true, 'freshet.event', 'nonsense')")
            try await toys.edit("after nonsense", at: front.address)
            try await toys.sees("after nonsense")
        }
    }

    @Test func theReaderDiesAndHangsAndTheSlotIsDropped() async throws {
        try await withCluster { cluster, sql in
            // A worker reads the log, too, if it finds the slot free.
            let front = try await cluster.start(
                roles: "api,gateway,worker", settings: [Self.wal, "tailer.standbyMs=60000", "tailer.inspectMs=60000"])
            let readers = [
                try await cluster.start(roles: "tailer,admin", settings: Self.reader + [Self.wal]),
                try await cluster.start(roles: "tailer,admin", settings: Self.reader + [Self.wal]),
            ]
            let toys = try await Follower.follow(front.address)
            try await toys.edit("first", at: front.address)
            try await toys.sees("first")
            func terminate() throws {
                try sql.run("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE active")
            }

            // Both die, one after the other comes back.
            for reader in readers { await reader.process.crash() }
            try terminate()
            try await toys.edit("while nobody reads", at: front.address)
            let second = try await cluster.start(roles: "tailer,admin", settings: Self.reader)
            try await toys.sees("while nobody reads")

            // Paused, with the connection open: another one ends it.
            second.process.signal(SIGSTOP)
            try await toys.edit("while it hangs", at: front.address)
            _ = try await cluster.start(roles: "tailer,admin", settings: Self.reader + [Self.wal])
            try await toys.sees("while it hangs")
            second.process.signal(SIGCONT)

            // Dropped by somebody together with its record, with an event that no slot has.
            while try sql.attempt("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots") == nil {
                try Task.checkCancellation()
                try terminate()
            }
            try await toys.edit("unseen", at: front.address)
            try await toys.sees("unseen")
        }
    }

    /// A node does not begin to leave events where nobody can read them.
    @Test func aNodeRefusesALogThatNobodyCanRead() async throws {
        try await withCluster(postgres: ["wal_level": "replica"]) { cluster, _ in
            let node = try cluster.launch(roles: "api,gateway,worker", settings: [Self.wal])
            #expect(await node.waitForExit() != 0)
            #expect(
                node.output.contains("outbox.kind is wal, but wal_level of the database is replica"), "\(node.output)")
            // A node without mutations of its own needs no log.
            _ = try await cluster.start(roles: "gateway,worker", settings: [Self.wal])
        }
    }
}
