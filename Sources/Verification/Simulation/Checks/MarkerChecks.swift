import LiveModel
import Streams

/// The promise of a marker: whatever the events before it in the shard's stream changed.
///
/// Markers take place under some seeds only, so that the others keep their course.
final class MarkerChecks {
    /// A version of an entity; those of a later life are newer (`SimulatedPostgres`).
    private struct Version {
        let life: Int
        let number: Int
    }

    private struct Entry: Hashable {
        let stream: String
        let id: StreamID
    }

    static let everyMs: Int64 = 700
    private static let promisesMax = 400

    private let violated: (String) -> Void
    /// The entity and version that an event tells, by the event's id.
    private var committed: [String: (entity: String, version: Version)] = [:]
    private var promises: [Entry: [String: Version]] = [:]
    private var promised: [Entry] = []
    /// The newest marker of each stream.
    private(set) var newest: [String: StreamID] = [:]
    /// The markers that gateways let count.
    private(set) var countedCount = 0

    init(violated: @escaping (String) -> Void) { self.violated = violated }

    func committed(_ event: String, of entity: String, version: Int, life: Int) {
        committed[event] = (entity, Version(life: life, number: version))
    }

    /// Records a marker that was just appended.
    /// - Parameter entries: those of its stream, which may lack the oldest ones.
    func appended(_ id: StreamID, to stream: String, after entries: [StreamEntry]) {
        var promise: [String: Version] = [:]
        for entry in entries where entry.id < id {
            guard let event = entry.event.flatMap({ try? MutationEvent(encoded: $0) }),
                let (entity, version) = committed[event.id]
            else { continue }
            if let known = promise[entity], (known.life, known.number) >= (version.life, version.number) { continue }
            promise[entity] = version
        }
        let entry = Entry(stream: stream, id: id)
        promises[entry] = promise
        promised.append(entry)
        newest[stream] = id
        if promised.count > Self.promisesMax { promises[promised.removeFirst()] = nil }
    }

    /// Checks a result that a gateway holds when it lets a marker count.
    func counted(_ marker: LagMarker, of stream: String, _ query: LiveQuery, _ result: LiveResult, by gateway: String) {
        // Its rule is a timer, or the database's log, whose events are none of a mutation.
        if ["Timer", Workload.outside].contains(query.operation.operation) { return }
        let versions = SimulatedPostgres.versions(in: result.answer.body)
        for (entity, promise) in promises[Entry(stream: stream, id: marker.entry)] ?? [:] {
            guard let number = versions[entity] else { continue }
            if (versions["life"] ?? 0, number) < (promise.life, promise.number) {
                violated(
                    "marker: \(gateway) let \(marker.entry) count with \(entity)=\(number) of \(query.operation), "
                        + "before it is \(promise.number)")
            }
        }
    }

    func counted() { countedCount += 1 }
}

extension World {
    /// Whether there are markers under this seed.
    var carriesMarkers: Bool { [0, 5, 9, 10, 15].contains(seed % 16) }

    /// Records what each marker promises when it is appended, and which events a stream has.
    func watchMarkers() {
        guard carriesMarkers else { return }
        redis.appended = { [unowned self] append, id in
            let event = append.fields.first { $0.name == StreamField.event }?.value
            guard let event = event.flatMap({ try? MutationEvent(encoded: $0) }) else { return }
            waitChecks.appended(event.id, to: append.stream, of: redis.serverID)
            guard event.markerDueMs != nil else { return }
            let entries = redis.newest(append.stream, before: .max, limit: Self.eventsLengthMax)
            markerChecks.appended(id, to: append.stream, after: entries)
        }
    }
}
