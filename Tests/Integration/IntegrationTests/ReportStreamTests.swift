import Foundation
import JSON
import NIOHTTP1
import ProtocolClients
import Synchronization
import TestSupport
import Testing

/// Reports of the admin API as event streams, over a cluster of two nodes.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct ReportStreamTests {
    /// A stream that is read until `end`.
    private final class Reading: Sendable {
        let lines = LineLog()
        private let hasEnded = Atomic<Bool>(false)
        private let task = Mutex<Task<Void, Never>?>(nil)

        private init(_ admin: AdminClient, _ path: String) {
            task.withLock {
                $0 = Task {
                    try? await HTTPLines.follow(admin.address, path: "/admin/" + path) { self.lines.append($0) }
                    hasEnded.store(true, ordering: .releasing)
                }
            }
        }

        /// Opens a stream as soon as there is a place for it.
        static func open(_ admin: AdminClient, _ path: String) async throws -> Reading {
            try await waitFor("a place for \(path)") {
                let reading = Reading(admin, path)
                let isOpen = try await waitFor("an answer to \(path)") { () -> Bool? in
                    if reading.lines.isOpened { return true }
                    return reading.hasEnded.load(ordering: .acquiring) ? false : nil
                }
                return isOpen ? reading : nil
            }
        }

        var reports: [JSONValue] { lines.all(of: "report") }

        /// Waits for a report that fits.
        @discardableResult
        func report(_ fits: @Sendable (JSONValue) -> Bool) async throws -> JSONValue {
            try await waitFor("a report among \(reports)") { reports.last(where: fits) }
        }

        func end() async {
            let task = task.withLock { $0 }
            task?.cancel()
            await task?.value
        }
    }

    private static func refusal(_ admin: AdminClient, _ path: String, accept: String) async throws -> (Int, String) {
        let response = try await HTTPCall.send(
            .GET, admin.address, path: "/admin/" + path, headers: ["accept": accept])
        let message = try JSONParser.parse(response.body)["errors"]?[0]?["message"]?.stringValue
        return (response.status, message ?? "")
    }

    @Test func reportsComeWhenTheyDiffer() async throws {
        try await Cluster.with { cluster in
            let front = try await cluster.start(
                roles: "api,gateway,admin", settings: ["inspect.reportStreamsMax=2"])
            let back = try await cluster.start(roles: "worker,admin")
            let (admin, other) = (try await AdminClient(front.process), try await AdminClient(back.process))
            try await arguments(admin)
            try await changes(front.address, admin, front.process, back.process)
            try await errors(admin, other, back.process)
        }
    }

    private func arguments(_ admin: AdminClient) async throws {
        let stream = "text/event-stream"
        let early = try await Self.refusal(admin, "v1/overrides?every=499", accept: stream)
        #expect(early == (400, "every must be a whole number from 500 to 20000"))
        let once = try await Self.refusal(admin, "v1/overrides?every=500", accept: "application/json")
        #expect(once == (400, "every is for event streams: send Accept: text/event-stream"))
        let unknown = try await Self.refusal(admin, "v1/overrides?limit=5", accept: stream)
        #expect(unknown.0 == 400 && unknown.1.contains("limit"), "\(unknown)")
        #expect(try await admin.get("v1/overrides")["overrides"] == [], "without the header it is one answer")
        // A former path has no stream.
        let former = try await HTTPCall.send(
            .GET, admin.address, path: "/admin/overrides", headers: ["accept": stream])
        #expect(former.headers.first(name: "content-type") == "application/json")
    }

    private func changes(
        _ address: ServerAddress, _ admin: AdminClient, _ process: FreshetProcess, _ other: FreshetProcess
    ) async throws {
        let overrides = try await Reading.open(admin, "v1/overrides?every=500")
        try await overrides.report { $0["overrides"] == [] }
        // What no other step of the test looks at.
        let sessions = try await Reading.open(admin, "v1/sessions?user=ann&limit=50&every=500")
        try await sessions.report { $0["matching"] == 0 }

        // As many streams as may be are open; an answer is still to be had.
        let third = try await Self.refusal(admin, "v1/nodes", accept: "text/event-stream")
        #expect(third == (429, "2 reports are followed on this node (inspect.reportStreamsMax)"))
        #expect(try await admin.get("v1/nodes").rows("nodes").count == 2)

        // Each of these takes the other stream an interval, in which the overrides are read without a change.
        var subscribers: [Subscriber] = []
        for count in 1...3 {
            subscribers.append(try await Subscriber.connect(address))
            try await sessions.report { $0["count"] == .int(Int64(count)) }
        }
        #expect(overrides.reports.count == 1, "\(overrides.reports)")
        #expect(try await admin.post("v1/operations/auctions/GetLot/splits?count=2").status == 200)
        let changed = try await overrides.report { $0["overrides"]?[0]?["value"] == 2 }
        let now = try await admin.get("v1/overrides")
        #expect(changed["generation"] == now["generation"], "the same JSON: \(now)")

        // One line for the opening, here and at the other node, which is asked for its part again and again.
        for node in [process, other] {
            _ = try await node.line(containing: "/admin/v1/sessions")
            let looks = node.output.split(separator: "\n").filter {
                $0.contains("admin look") && $0.contains("/admin/v1/sessions")
            }
            #expect(looks.count == 1, "\(looks)")
        }
        #expect(process.output.contains("everyMs=500") || process.output.contains(#""everyMs":"500""#))
        // Its place is free once the node has noticed.
        await sessions.end()
        let nodes = try await Reading.open(admin, "v1/nodes")
        try await nodes.report { $0.rows("nodes").count == 2 }
        for reading in [nodes, overrides] { await reading.end() }
        for subscriber in subscribers { subscriber.socket.close() }
    }

    private func errors(_ admin: AdminClient, _ other: AdminClient, _ process: FreshetProcess) async throws {
        let status = try await Reading.open(admin, "v1/status?node=\(other.node)&every=500")
        try await status.report { $0["nodes"]?[0]?["node"]?.stringValue == other.node }
        await process.crash()
        // The list of nodes has it no more.
        let error = try await waitFor("an error") { status.lines.all(of: "error").first }
        #expect(error["errors"]?[0]?["extensions"]?["code"] != nil, "\(error)")
        let message = error["errors"]?[0]?["message"]?.stringValue ?? ""
        #expect(message.hasPrefix("no live node \"\(other.node)\""), "\(message)")
        await status.end()
    }
}
