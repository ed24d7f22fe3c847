import DequeModule

/// The events and runs that a node records for trials of rules, for a time and within a count and bytes: the newest
/// replace the oldest.
struct EventCapture: Sendable {
    private(set) var untilMs: Int64
    /// Whether events are recorded now. What was recorded stays for a time.
    private(set) var isOn = true
    private(set) var bytes = 0
    private(set) var leftOut = 0
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
    init(untilMs: Int64, keptMs: Int64, countMax: Int, bytesMax: Int) {
        self.untilMs = untilMs
        self.keptMs = keptMs
        self.countMax = countMax
        self.bytesMax = bytesMax
    }

    var eventCount: Int { events.count }
    var recordedEvents: [RecordedEvent] { Array(events) }
    var recordedRuns: [RecordedRun] { Array(runs) }

    mutating func extend(untilMs: Int64) {
        self.untilMs = max(untilMs, self.untilMs)
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

    private mutating func trim() {
        while events.count > countMax || bytes > bytesMax, let oldest = events.popFirst() {
            numbers[oldest.id] = nil
            firstNumber += 1
            bytes -= oldest.byteCount
            leftOut += 1
        }
        while runs.count > countMax || bytes > bytesMax, runs.popFirst() != nil {
            bytes -= RecordedRun.byteCount
            leftOut += 1
        }
    }
}
