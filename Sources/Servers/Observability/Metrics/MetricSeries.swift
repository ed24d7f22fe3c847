import Metrics
import Synchronization

/// A series: a handler of swift-metrics that can print itself. `labels` is `a="1",b="2"`, without braces.
protocol MetricSeries: AnyObject, Sendable {
    func append(name: String, labels: String, to text: inout [UInt8])
}

/// A value that only grows. Integers are added atomically, fractions under a lock.
final class CounterSeries: MetricSeries, CounterHandler, FloatingPointCounterHandler {
    private let whole = Atomic<Int64>(0)
    private let fraction = Mutex<Double>(0)

    func increment(by amount: Int64) {
        guard amount > 0 else { return }
        whole.wrappingAdd(amount, ordering: .relaxed)
    }

    func increment(by amount: Double) {
        guard amount > 0, amount.isFinite else { return }
        fraction.withLock { $0 += amount }
    }

    func reset() {
        whole.store(0, ordering: .relaxed)
        fraction.withLock { $0 = 0 }
    }

    func append(name: String, labels: String, to text: inout [UInt8]) {
        let value = Double(whole.load(ordering: .relaxed)) + fraction.withLock { $0 }
        MetricText.appendSample(name, labels, value, to: &text)
    }
}

/// A value that rises and falls.
final class GaugeSeries: MetricSeries, MeterHandler, RecorderHandler {
    /// The bit pattern of the value.
    private let bits = Atomic<UInt64>(0)

    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }
    func record(_ value: Int64) { set(Double(value)) }
    func record(_ value: Double) { set(value) }
    func decrement(by amount: Double) { increment(by: -amount) }

    func increment(by amount: Double) {
        var current = bits.load(ordering: .relaxed)
        while true {
            let next = (Double(bitPattern: current) + amount).bitPattern
            let (exchanged, original) = bits.compareExchange(
                expected: current, desired: next, ordering: .relaxed)
            if exchanged { return }
            current = original
        }
    }

    func append(name: String, labels: String, to text: inout [UInt8]) {
        MetricText.appendSample(name, labels, Double(bitPattern: bits.load(ordering: .relaxed)), to: &text)
    }
}

/// A gauge that is read when it is rendered.
final class ObservedSeries: MetricSeries {
    let read = Mutex<(@Sendable () -> Double)?>(nil)

    func append(name: String, labels: String, to text: inout [UInt8]) {
        guard let read = read.withLock({ $0 }) else { return }
        MetricText.appendSample(name, labels, read(), to: &text)
    }
}

/// Counts by upper bound. `bounds` ascend; values above the last one count in `+Inf` only.
final class HistogramSeries: MetricSeries, TimerHandler, RecorderHandler {
    private struct State {
        /// One per bound and one for the values above; not cumulative.
        var counts: [UInt64]
        var sum = 0.0
    }

    private let bounds: [Double]
    private let state: Mutex<State>

    init(bounds: [Double]) {
        self.bounds = bounds
        state = Mutex(State(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        guard !value.isNaN else { return }
        let index = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock { state in
            state.counts[index] += 1
            state.sum += value
        }
    }

    func append(name: String, labels: String, to text: inout [UInt8]) {
        let state = state.withLock { $0 }
        let prefix = labels.isEmpty ? "" : "\(labels),"
        var total: UInt64 = 0
        for (index, count) in state.counts.enumerated() {
            total += count
            let bound = index < bounds.count ? MetricText.number(bounds[index]) : "+Inf"
            MetricText.appendSample("\(name)_bucket", "\(prefix)le=\"\(bound)\"", Double(total), to: &text)
        }
        MetricText.appendSample("\(name)_sum", labels, state.sum, to: &text)
        MetricText.appendSample("\(name)_count", labels, Double(total), to: &text)
    }
}
