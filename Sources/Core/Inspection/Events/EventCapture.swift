import DequeModule

/// The events and runs that a node records for trials of rules, for a time and within a count and bytes: the newest
/// replace the oldest.
struct EventCapture: Sendable {
    private(set) var untilMs: Int64
    /// Whether events are recorded now. What was recorded stays for a time.
    private(set) var isOn = true
    private(set) var bytes = 0
    private(set) var leftOut = 0
    /// The time from which all runs are recorded: later than the start if runs were replaced or dropped, or if the
    /// recording was resumed.
    private(set) var runsSinceMs: Int64
    private var events = Deque<RecordedEvent>()
    private var runs = Deque<RecordedRun>()
    /// The numbers of the events by id: several shards apply an event.
    private var numbers: [String: Int] = [:]
    /// The number of the first event.
    private var firstNumber = 0
    private let keptMs: Int64
    private let countMax: Int
    private let bytesMax: Int

    /// - Parameters:
    ///   - keptMs: how long what was recorded stays after the end.
    ///   - countMax: of events, and of runs.
    init(nowMs: Int64, untilMs: Int64, keptMs: Int64, countMax: Int, bytesMax: Int) {
        runsSinceMs = nowMs
        self.untilMs = untilMs
        self.keptMs = keptMs
        self.countMax = countMax
        self.bytesMax = bytesMax
    }

    var eventCount: Int { events.count }
    var recordedEvents: [RecordedEvent] { Array(events) }
    var recordedRuns: [RecordedRun] { Array(runs) }

    mutating func extend(untilMs: Int64, nowMs: Int64) {
        self.untilMs = max(untilMs, self.untilMs)
        if !isOn { runsSinceMs = max(runsSinceMs, nowMs) }
        isOn = true
    }

    mutating func stop(nowMs: Int64) {
        isOn = false
        untilMs = min(untilMs, nowMs)
    }

    /// - Returns: whether nothing is left of it.
    mutating func expire(nowMs: Int64) -> Bool {
        if untilMs <= nowMs { isOn = false }
        return untilMs + keptMs <= nowMs
    }

    mutating func add(_ event: RecordedEvent) {
        if let number = numbers[event.id] {
            let place = number - firstNumber
            bytes -= events[place].byteCount
            events[place].merge(event)
            bytes += events[place].byteCount
        } else {
            numbers[event.id] = firstNumber + events.count
            events.append(event)
            bytes += event.byteCount
        }
        trim()
    }

    mutating func add(_ run: RecordedRun) {
        runs.append(run)
        bytes += RecordedRun.byteCount
        trim()
    }

    /// Notes that events and runs up to now were not handed over.
    mutating func drop(_ count: Int, nowMs: Int64) {
        guard isOn else { return }
        leftOut += count
        runsSinceMs = max(runsSinceMs, nowMs + 1)
    }

    private mutating func trim() {
        while events.count > countMax { removeOldestEvent() }
        while runs.count > countMax { removeOldestRun() }
        while bytes > bytesMax {
            // An event goes before the runs that may answer it.
            let eventMs = events.first.map { $0.appliedAtMs.values.min() ?? $0.committedAtMs }
            switch (eventMs, runs.first?.startedAtMs) {
            case (let eventMs?, let runMs?) where runMs < eventMs: removeOldestRun()
            case (.some, _): removeOldestEvent()
            case (nil, .some): removeOldestRun()
            case (nil, nil): return
            }
        }
    }

    private mutating func removeOldestEvent() {
        guard let oldest = events.popFirst() else { return }
        numbers[oldest.id] = nil
        firstNumber += 1
        bytes -= oldest.byteCount
        leftOut += 1
    }

    private mutating func removeOldestRun() {
        guard let oldest = runs.popFirst() else { return }
        runsSinceMs = max(runsSinceMs, oldest.startedAtMs + 1)
        bytes -= RecordedRun.byteCount
        leftOut += 1
    }
}
