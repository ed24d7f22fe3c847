import Streams

/// The readers of a cluster's slots: which reader reads a slot, when it reads again, and what `next` returns.
///
/// A slot's reader begins with the first stream that is followed there and retires with the last one. It reads only
/// while none of its batches waits and `next` has been called.
///
/// Bounds: one reader for each followed slot (shard), and at most one batch of each ahead of `next`.
struct SlotReaders {
    /// Identifies a reader. One that begins in the slot later has another number.
    struct ID: Hashable {
        let slot: Int
        fileprivate let number: Int
    }

    private struct Reader {
        let number: Int
        /// The number of each stream's last change; batches from before it are dropped.
        var changes: [String: Int] = [:]
        /// Whether it waits because it may not read.
        var isParked = false
    }

    private var readers: [Int: Reader] = [:]
    private var begun = 0
    private var ready: [(slot: Int, batch: StreamBatch)] = []
    private var failure: BrokerError?
    /// Streams whose reader could not be created for lack of a thread or descriptor; each `next` tries again.
    private var unmade: [String: ReadPlan.Start] = [:]
    /// The number of entries that the waiting `next` accepts; nil: none waits.
    private var requested: Int?
    /// The number of entries that the last `next` accepted; 0: there was none.
    private var maxEntries = 0
    private(set) var isClosed = false

    // MARK: Streams

    enum Following: Equatable {
        case existing(ID)
        /// Create the reader; if that fails, `notCreated`.
        case new(ID)
    }

    /// Returns the reader that must follow a stream of the slot, before `followed`; nil: all are closed.
    mutating func follow(_ stream: String, slot: Int) -> Following? {
        guard !isClosed else { return nil }
        unmade[stream] = nil
        if let reader = readers[slot] { return .existing(ID(slot: slot, number: reader.number)) }
        begun += 1
        return .new(ID(slot: slot, number: begun))
    }

    /// The next `next` fails with the error; those after it create the reader again.
    mutating func notCreated(_ stream: String, _ start: ReadPlan.Start, _ error: BrokerError) {
        failure = error
        unmade[stream] = start
    }

    /// - Parameter change: the number that the stream's batches carry from now on.
    mutating func followed(_ stream: String, by id: ID, change: Int) {
        readers[id.slot, default: Reader(number: id.number)].changes[stream] = change
        ready.removeAll { $0.batch.stream == stream }
    }

    /// The streams to follow again before a `next`.
    var withoutReader: [String: ReadPlan.Start] { failure == nil ? unmade : [:] }

    enum Unfollowing: Equatable {
        /// The reader goes on without the stream.
        case shrink(ID)
        /// Close the reader: that was its last stream.
        case retire(ID)
    }

    /// - Returns: nil if the stream is not followed.
    mutating func unfollow(_ stream: String, slot: Int) -> Unfollowing? {
        unmade[stream] = nil
        guard let reader = readers[slot], reader.changes[stream] != nil else { return nil }
        readers[slot]?.changes[stream] = nil
        ready.removeAll { $0.batch.stream == stream }
        let id = ID(slot: slot, number: reader.number)
        if reader.changes.count > 1 { return .shrink(id) }
        readers[slot] = nil
        return .retire(id)
    }

    // MARK: Reading

    enum Turn: Equatable {
        case read(maxEntries: Int)
        /// Park the reader until `handOut` or `close` names it.
        case wait
        /// The reader was closed.
        case end
    }

    mutating func turn(of id: ID) -> Turn {
        guard isCurrent(id) else { return .end }
        if isFree(id.slot) { return .read(maxEntries: maxEntries) }
        readers[id.slot]?.isParked = true
        return .wait
    }

    private func isCurrent(_ id: ID) -> Bool { readers[id.slot]?.number == id.number }

    private func isFree(_ slot: Int) -> Bool {
        maxEntries > 0 && failure == nil && !ready.contains { $0.slot == slot }
    }

    /// Keeps what was read for `next`, except what a reader that was closed, or before a later change, read.
    mutating func arrived(_ batches: [(batch: StreamBatch, change: Int)], from id: ID) {
        guard isCurrent(id), let reader = readers[id.slot] else { return }
        for (batch, change) in batches where reader.changes[batch.stream] == change {
            ready.append((id.slot, batch))
        }
    }

    /// The waiting `next`, or the next one, fails with the error.
    mutating func failed(_ error: BrokerError, from id: ID) {
        if isCurrent(id) { failure = error }
    }

    // MARK: The consumer

    /// - Returns: why the call fails at once.
    mutating func next(maxEntries: Int) -> BrokerError? {
        if isClosed { return BrokerError(.closed) }
        if requested != nil { return BrokerError(.concurrentRead) }
        self.maxEntries = max(1, maxEntries)
        requested = self.maxEntries
        return nil
    }

    /// The waiting `next` was cancelled.
    mutating func cancelled() { requested = nil }

    /// Returns what answers the waiting `next`, if anything does, and the parked readers that may read again.
    mutating func handOut() -> (answer: Result<[StreamBatch], BrokerError>?, resumed: [ID]) {
        var answer: Result<[StreamBatch], BrokerError>?
        if let requested {
            if let failure {
                answer = .failure(failure)
                self.failure = nil
            } else if !ready.isEmpty {
                answer = .success(take(maxEntries: requested))
            }
            if answer != nil { self.requested = nil }
        }
        var resumed: [ID] = []
        for index in readers.indices where readers.values[index].isParked && isFree(readers.keys[index]) {
            readers.values[index].isParked = false
            resumed.append(ID(slot: readers.keys[index], number: readers.values[index].number))
        }
        return (answer, resumed)
    }

    /// Takes at most `maxEntries` of each batch and leaves the rest.
    private mutating func take(maxEntries: Int) -> [StreamBatch] {
        var taken: [StreamBatch] = []
        var left: [(slot: Int, batch: StreamBatch)] = []
        for (slot, batch) in ready {
            var batch = batch
            if batch.entries.count > maxEntries {
                var rest = batch
                rest.signal = nil
                rest.entries = Array(batch.entries[maxEntries...])
                left.append((slot, rest))
                batch.entries = Array(batch.entries[..<maxEntries])
            }
            taken.append(batch)
        }
        ready = left
        return taken
    }

    /// All readers are to be closed; nothing is followed or returned any more.
    mutating func close() {
        isClosed = true
        readers = [:]
        ready = []
        requested = nil
    }
}
