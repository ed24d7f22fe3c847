import JSON
import LiveModel
import Refresh

/// A refresh machine with its clock and what it asked for. Nothing happens between two calls.
struct Bench {
    static let shard = ShardID(0)
    static let epoch: UInt64 = 7

    var machine: RefreshMachine
    var nowMs: Int64 = 1_000_000
    var lastID = RefreshFixture.id(100)

    /// - Parameter rules: by operation name; others are unknown.
    init(_ rules: [String: QueryRules], settings: RefreshSettings = .init(), isOwner: Bool = true) {
        machine = RefreshMachine(settings: settings) { query throws(RequestError) in
            guard let found = rules[query.operation.operation] else {
                throw RequestError(.unavailable, "not known here")
            }
            return found
        }
        if isOwner { acquire() }
    }

    mutating func acquire(
        epoch: UInt64 = Bench.epoch, history: [EventEntry] = [], trustedEpoch: UInt64 = 0
    ) {
        machine.shardAcquired(
            Self.shard, epoch: epoch, lastEventID: lastID, history: history, trustedEpoch: trustedEpoch, nowMs: nowMs)
    }

    mutating func announce(
        _ query: LiveQuery = RefreshFixture.query(), from gateway: String = "g", known: KnownResult? = nil,
        announcement: AnnouncementID = AnnouncementID()
    ) -> Asked {
        tell(.announce(gateway: NodeID(gateway), query: query, known: known, announcement: announcement))
    }

    mutating func tell(_ message: ControlMessage) -> Asked {
        Asked(machine.controlArrived(Self.shard, message, nowMs: nowMs))
    }

    mutating func event(_ event: MutationEvent? = RefreshFixture.event()) -> Asked {
        lastID = lastID.successor ?? .max
        return Asked(machine.eventsArrived(Self.shard, [EventEntry(id: lastID, event: event)], nowMs: nowMs))
    }

    mutating func finish(_ batch: RunBatch, _ outcome: RunOutcome, micros: UInt64 = 0) -> Asked {
        finish(batch, Array(repeating: outcome, count: batch.items.count), micros: micros)
    }

    mutating func finish(_ batch: RunBatch, _ outcomes: [RunOutcome], micros: UInt64 = 0) -> Asked {
        Asked(machine.runFinished(batch, outcomes, micros: micros, nowMs: nowMs))
    }

    mutating func advance(_ ms: Int64) -> Asked {
        nowMs += ms
        return Asked(machine.timeReached(nowMs: nowMs))
    }

    /// One registered live query with result 1.
    static func settled(_ rules: QueryRules, settings: RefreshSettings = .init(), gateway: String = "g") -> Bench {
        var bench = Bench(["Q": rules], settings: settings)
        let first = bench.announce(from: gateway)
        _ = bench.finish(first.runs[0], RefreshFixture.result(1))
        _ = bench.advance(1_000)
        return bench
    }
}

/// The actions of one call, by kind.
struct Asked {
    var runs: [RunBatch] = []
    var sent: [(to: String, message: InboxMessage)] = []
    var pages: [ReplayPage] = []
    var mismatches: [VerificationMismatch] = []

    init(_ actions: [RefreshAction]) {
        for action in actions {
            switch action {
            case .run(let batch): runs.append(batch)
            case .send(let gateway, let message): sent.append((gateway.name, message))
            case .replay(let page): pages.append(page)
            case .report(let mismatch): mismatches.append(mismatch)
            }
        }
    }

    var isNothing: Bool { runs.isEmpty && sent.isEmpty && pages.isEmpty }

    /// `gateway:kind`, in order.
    var summary: [String] {
        sent.map { to, message in
            switch message {
            case .result(_, _, let result, _): "\(to):result \(String(decoding: result.answer.body, as: UTF8.self))"
            case .unchanged: "\(to):unchanged"
            case .unchangedTick: "\(to):ticked"
            case .failed(_, _, _, let error, _): "\(to):failed \(error.code.rawValue)"
            case .announceAll(_, let epoch): "\(to):announceAll \(epoch)"
            case .settled(_, _, let through, let except, _): "\(to):settled \(through) except \(except.count)"
            case .marker(_, _, let marker): "\(to):marker \(marker.entry)"
            case .ticket(_, _, let number): "\(to):ticket \(number)"
            }
        }
    }

    var positions: [Position] {
        sent.compactMap { _, message in
            switch message {
            case .result(_, _, let result, _): result.position
            case .unchanged(_, _, _, let position, _, _), .unchangedTick(_, _, _, let position, _),
                .failed(_, _, let position, _, _):
                position
            case .announceAll, .settled, .marker, .ticket: nil
            }
        }
    }
}
