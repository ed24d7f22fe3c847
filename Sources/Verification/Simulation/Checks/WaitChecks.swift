import LiveModel
import Sessions

/// The promise of a wait: once it is answered, the client shows what the mutation changed.
///
/// Waits take place under some of the seeds that have markers, so that the others keep their course.
final class WaitChecks {
    private static let eventsMax = 400

    private let violated: (String) -> Void
    /// The entity and version that an event tells, by the event's id.
    private var committed: [String: (entity: String, life: Int, version: Int)] = [:]
    /// The Redis server whose stream got the event last, by event and stream. One that takes over may lack it until
    /// everything is refreshed.
    private var servers: [String: [String: String]] = [:]
    private var events: [String] = []
    /// The waits that were answered without an error.
    private(set) var answeredCount = 0

    init(violated: @escaping (String) -> Void) { self.violated = violated }

    func committed(_ event: String, of entity: String, version: Int, life: Int) {
        committed[event] = (entity, life, version)
        events.append(event)
        guard events.count > Self.eventsMax else { return }
        let oldest = events.removeFirst()
        (committed[oldest], servers[oldest]) = (nil, nil)
    }

    func appended(_ event: String, to stream: String, of server: String) {
        if committed[event] != nil { servers[event, default: [:]][stream] = server }
    }

    /// Checks the result that a client holds when it learns that its wait is over.
    func answered(
        _ event: String, of stream: String, server: String, _ query: LiveQuery, _ body: [UInt8], by client: Int
    ) {
        answeredCount += 1
        // Its rule is a timer, or the database's log, whose events are none of a mutation.
        if ["Timer", Workload.outside].contains(query.operation.operation) { return }
        guard let told = committed[event], servers[event]?[stream] == server else { return }
        let versions = SimulatedPostgres.versions(in: body)
        guard let version = versions[told.entity] else { return }
        if (versions["life"] ?? 0, version) < (told.life, told.version) {
            violated(
                "wait: client \(client) shows \(told.entity)=\(version) of \(query.operation) after it waited for "
                    + "\(event), which made it \(told.version)")
        }
    }
}

extension World {
    /// Whether clients wait under this seed.
    var carriesWaits: Bool { [0, 9, 10, 15].contains(seed % 16) }

    /// Records what an event tells that was just committed.
    func committed(_ event: String, of entity: String) {
        let version = postgres.versions[entity] ?? 0
        markerChecks.committed(event, of: entity, version: version, life: postgres.life)
        waitChecks.committed(event, of: entity, version: version, life: postgres.life)
    }

    /// A client waits for a mutation that was just acknowledged; which one follows from the number of commits.
    func wait(for event: String) {
        guard carriesWaits else { return }
        let client = clients[postgres.committed.count * 7 % clients.count]
        guard let connection = client.connection, client.keepsConnections else { return }
        connection.gateway.later(1) { connection.gateway.wait(connection, for: event) }
    }
}
