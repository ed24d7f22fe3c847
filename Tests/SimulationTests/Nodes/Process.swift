import LiveModel

/// A node's process: it can be killed, started again and stopped for a while, and its clock is not quite right.
///
/// What it does goes through `later` and `call`: a killed process forgets, a stopped one does everything afterwards,
/// in any order. Requests on their way are executed all the same.
class Process {
    unowned let world: World
    let name: String
    private(set) var isUp = false
    private(set) var incarnation = 0
    private var pausedUntilMs: Int64 = 0
    private let offsetMs: Int64
    private let driftPerThousand: Int64
    private var requestAtMs: Int64 = 0
    private var answerAtMs: Int64 = 0

    init(_ name: String, _ world: World) {
        self.world = world
        self.name = name
        offsetMs = world.timeline.pick(-300...300)
        driftPerThousand = world.timeline.pick(-5...5)
    }

    var timeline: Timeline { world.timeline }

    /// By this process's clock.
    var nowMs: Int64 {
        timeline.nowMs + offsetMs + (timeline.nowMs - world.startMs) * driftPerThousand / 1_000
    }

    func started() {}
    func killed() {}

    final func start() {
        guard !isUp else { return }
        isUp = true
        incarnation += 1
        pausedUntilMs = 0
        started()
    }

    final func kill() {
        guard isUp else { return }
        isUp = false
        killed()
    }

    final func pause(ms: Int64) { pausedUntilMs = max(pausedUntilMs, timeline.nowMs + ms) }

    final func resume() { pausedUntilMs = 0 }

    final func later(_ ms: Int64, _ body: @escaping () -> Void) {
        let incarnation = incarnation
        timeline.after(ms) { [self] in wake(incarnation, body) }
    }

    private func wake(_ incarnation: Int, _ body: @escaping () -> Void) {
        guard isUp, self.incarnation == incarnation else { return }
        if pausedUntilMs > timeline.nowMs {
            timeline.at(pausedUntilMs + timeline.pick(0...20)) { [self] in wake(incarnation, body) }
        } else {
            body()
        }
    }

    final func every(_ ms: Int64, _ body: @escaping () -> Void) {
        later(ms) { [self] in
            body()
            every(ms, body)
        }
    }

    /// Asks the broker over one connection: requests are executed in order, answers come in order; nil: no answer, and
    /// nobody knows whether it was executed.
    final func call<Answer>(_ request: @escaping (SimulatedBroker) -> Answer, then: @escaping (Answer?) -> Void) {
        requestAtMs = max(requestAtMs, timeline.nowMs + world.networkDelay())
        let incarnation = incarnation
        timeline.at(requestAtMs) { [self] in
            var answer: Answer?
            if world.broker.isUp {
                answer = request(world.broker)
                if world.isChaos, timeline.chance(1) { answer = nil }
            }
            answerAtMs = max(answerAtMs, timeline.nowMs + world.networkDelay())
            timeline.at(answerAtMs) { [self] in wake(incarnation) { then(answer) } }
        }
    }
}

/// Reads streams from a cursor and notices what it missed.
final class StreamReader {
    private unowned let process: Process
    private var cursors: [String: StreamID] = [:]
    private let handler: (String, SimulatedBroker.Signal?, [SimulatedBroker.Entry]) -> Void

    init(
        _ process: Process, _ handler: @escaping (String, SimulatedBroker.Signal?, [SimulatedBroker.Entry]) -> Void
    ) {
        self.process = process
        self.handler = handler
    }

    func follow(_ stream: String, after cursor: StreamID) {
        cursors[stream] = cursor
        poke(stream)
    }

    func unfollow(_ stream: String) { cursors[stream] = nil }

    /// Something may be new in `stream`; nil: in any.
    func poke(_ stream: String?) {
        for name in cursors.keys.sorted() where stream == nil || stream == name {
            process.later(process.world.networkDelay()) { [weak self] in self?.read(name) }
        }
    }

    private func read(_ name: String) {
        let broker = process.world.broker
        guard broker.isUp, let cursor = cursors[name] else { return }
        let (signal, entries) = broker.read(name, after: cursor)
        if signal == nil, entries.isEmpty { return }
        cursors[name] = entries.last?.id ?? broker.lastID(of: name)
        handler(name, signal, entries)
    }
}
