import CBroadcaster
import CEL
import Inspection
import JSON
import LiveModel
import NIOHTTP1
import Node
import ProtocolClients
import Recording
import Refresh

/// Measures what recording for operators costs: matching events and fan-out, each with recording off and on in
/// alternating pairs of one run, so that other load on the machine affects both. Off is the default; on is a recording
/// of all events, a tail of everything, and the flight recorder of a user.
package enum RecordingBenchmark {
    package static func run(_ clients: ClientGroup, project: String, isQuick: Bool) async throws -> [BenchmarkResult] {
        [try matching(isQuick: isQuick)] + (try await fanout(clients, project: project, isQuick: isQuick))
    }

    // MARK: Matching

    private static let matchesPerEvent = 10

    /// CPU per event of a worker's machine with 10,000 live queries, ten of which match; on, what it notices goes into
    /// a recorder, too.
    private static func matching(isQuick: Bool) throws -> BenchmarkResult {
        let shard = ShardID(0)
        let operation = OperationReference(connector: "auctions", operation: "ListLots")
        let mutation = OperationReference(connector: "auctions", operation: "EditLot")
        let version = Digest(of: Array("v1".utf8))
        let trigger = Trigger(
            id: .init(operation: operation, version: version, number: 0), mutation: mutation,
            condition: try ConditionActivation.environment.compile(
                "request.variables.category == mutation.variables.category"))
        var settings = RefreshSettings()
        settings.liveQueriesMax = 100_000
        var off = RefreshMachine(settings: settings) { query in
            QueryRules(
                triggers: [trigger], lookupKeys: [], everyMs: nil,
                request: .map(
                    MapValue([("variables", Value(jsonObject: query.variables)), ("auth", Value(json: .null))])))
        }
        off.shardAcquired(shard, epoch: 1, lastEventID: StreamID(ms: 1, sequence: 0), history: [], nowMs: 1)
        let categories = 1_000
        for number in 0..<categories * matchesPerEvent {
            let query = LiveQuery(
                operation: operation, version: version,
                variables: [
                    "category": .string("category-\(number % categories)"), "offset": .int(Int64(number / categories)),
                ], auth: nil)
            _ = off.controlArrived(
                shard, .announce(gateway: NodeID("g"), query: query, known: nil, announcement: AnnouncementID()),
                nowMs: 1)
        }
        var on = off
        var recorder = Recorder()
        recorder.recordEvents(forMs: 1_000_000, nowMs: 0)
        guard let filter = TailFilter(operation: nil, kinds: nil, uid: nil), recorder.openTail(filter) != nil else {
            throw BenchmarkFailure("no tail")
        }
        on.scope = recorder.scope
        let portion = 500
        var ratios = Samples()
        var (offSeconds, onSeconds) = (Samples(), Samples())
        for pair in 0..<(isQuick ? 40 : 200) {
            let entries = (0..<portion).map { number in
                EventEntry(
                    id: StreamID(ms: UInt64(2 + pair * portion + number), sequence: 0),
                    event: MutationEvent(
                        id: "e\(pair)-\(number)", operation: mutation,
                        variables: ["category": .string("category-\((pair * portion + number) % categories)")],
                        auth: .null, keysWritten: [], traceID: "t", committedAtMs: 1))
            }
            var start = Clock.threadSeconds
            for entry in entries {
                keep(off.eventsArrived(shard, [entry], nowMs: 1).count)
                if off.hasObservations { throw BenchmarkFailure("something is noticed although nothing is recorded") }
            }
            let without = (Clock.threadSeconds - start) / Double(portion)
            start = Clock.threadSeconds
            for entry in entries {
                keep(on.eventsArrived(shard, [entry], nowMs: 1).count)
                for observation in on.takeObservations().observations {
                    keep(recorder.observed(observation, on: NodeID("w"), nowUs: 1).count)
                }
            }
            let with = (Clock.threadSeconds - start) / Double(portion)
            offSeconds.add(without)
            onSeconds.add(with)
            ratios.add(with / without)
        }
        guard recorder.eventCount > 0 else { throw BenchmarkFailure("no event was recorded") }
        return BenchmarkResult(
            name: "matching and triggering: recording on / off",
            measured: "\(Text.microseconds(onSeconds.median)) / \(Text.microseconds(offSeconds.median)) per event",
            ratio: ratios.median, limit: .none)
    }

    // MARK: Fan-out

    /// CPU of a whole node per delivery of one result to all sessions of one live query; and the part of it that asking
    /// whether anything is recorded takes while nothing is.
    private static func fanout(
        _ clients: ClientGroup, project: String, isQuick: Bool
    ) async throws -> [BenchmarkResult] {
        let (sessions, pairs) = isQuick ? (1_000, 15) : (5_000, 60)
        return try await PrivateServers.with(project: project, isDurable: false) { servers in
            try await servers.withPool { pool in
                try await ProtocolsBenchmark.withNode(servers, pool) { address, lot, writer in
                    guard let adminPort = address.adminPort else { throw BenchmarkFailure("there is no admin port") }
                    let admin = try ServerAddress("http://127.0.0.1:\(adminPort)")
                    try clients.connect(
                        ClientKind.graphqlTransportWS.script(lot: lot), count: sessions, port: address.publicPort)
                    try await ProtocolsBenchmark.round(clients, writer, 0)
                    var (off, on, ratios) = (Samples(), Samples(), Samples())
                    var number = 0
                    func round() async throws -> Double {
                        number += 1
                        let before = cb_own_cpu_us()
                        try await ProtocolsBenchmark.round(clients, writer, number)
                        return Double(cb_own_cpu_us() - before) / Double(sessions)
                    }
                    for _ in 0..<pairs {
                        let without = try await round()
                        let tail = try await record(admin)
                        let with = try await round()
                        try await stop(admin, tail)
                        off.add(without)
                        on.add(with)
                        ratios.add(with / without)
                    }
                    try clients.disconnect()
                    let check = checkMicroseconds()
                    return [
                        BenchmarkResult(
                            name: "fan-out of a node: recording on / off",
                            measured: "\(Text.fixed(on.median)) / \(Text.fixed(off.median)) CPU s per million",
                            ratio: ratios.median, limit: .none),
                        BenchmarkResult(
                            name: "asking whether anything is recorded, of a delivery, off",
                            measured: "\(Text.fixed(check, decimals: 4)) of \(Text.fixed(off.median)) us",
                            ratio: check / off.median, limit: .atMost(BenchmarkLimits.recordingOffMax)),
                    ]
                }
            }
        }
    }

    /// The time of one question, of which a delivery asks at most two.
    private static func checkMicroseconds() -> Double {
        let recorder = NodeRecorder(node: NodeID("bench"))
        let count = 10_000_000
        let start = Clock.threadSeconds
        var isOn = 0
        for _ in 0..<count where recorder.isOn { isOn += 1 }
        let seconds = Clock.threadSeconds - start
        keep(isOn)
        return 2 * seconds / Double(count) * 1e6
    }

    /// Begins to record everything.
    /// - Returns: the tail.
    private static func record(_ admin: ServerAddress) async throws -> Task<Void, any Error> {
        for path in ["events/record?forMs=600000", "flight/record?uid=bench"] { try await post(admin, path) }
        let tail = Task { try await HTTPLines.follow(admin, path: "/admin/v1/tail") { keep($0.utf8.count) } }
        try await waitForTails(1, admin)
        return tail
    }

    private static func stop(_ admin: ServerAddress, _ tail: Task<Void, any Error>) async throws {
        tail.cancel()
        _ = await tail.result
        try await waitForTails(0, admin)
        try await post(admin, "recording/stop")
    }

    private static func waitForTails(_ count: Int64, _ admin: ServerAddress) async throws {
        for _ in 0..<1_000 {
            let response = try await HTTPCall.send(.GET, admin, path: "/admin/v1/recording")
            if try JSONValue(parsing: response.body)["tails"]?.intValue == count { return }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw BenchmarkFailure("the node does not have \(count) tails")
    }

    private static func post(_ admin: ServerAddress, _ path: String) async throws {
        let response = try await HTTPCall.send(
            .POST, admin, path: "/admin/v1/" + path, headers: ["content-type": "application/json"])
        guard response.status == 200 else { throw BenchmarkFailure("\(path) answered \(response.status)") }
    }
}
