import LiveModel

/// The streams that a reader follows: the cursor of each, and which part of an answer is delivered.
struct FollowedStreams {
    struct Stream {
        /// Increases when a stream is followed or replaced; reads sent under another number are void.
        var follow: Int
        var gap: GapCheck
        /// The time until which nothing was trimmed unread: the stream was compared with its cursor, or an answered
        /// read named it. 0: unknown.
        var coveredNs: UInt64 = 0
        /// The server that the cursor comes from, or on which the stream was last compared; nil if unknown.
        var server: String?
        /// When the last entries arrived; 0: never.
        var lastEntriesNs: UInt64 = 0

        var start: ReadLanes.Start { .init(follow: follow, cursor: gap.cursor) }

        func isHot(at nowNs: UInt64) -> Bool {
            lastEntriesNs != 0 && nowNs < lastEntriesNs.addingMs(ReadPlan.hotMs)
        }

        /// Whether the stream may have been trimmed while it was not read.
        func isSuspect(at nowNs: UInt64) -> Bool { nowNs > coveredNs.addingMs(ReadPlan.awayMs) }

        /// Moves the cursor over delivered entries.
        fileprivate mutating func advance(over batch: StreamBatch, nowNs: UInt64) {
            guard let last = batch.entries.last else { return }
            gap.advance(to: last.id, by: batch.entries.count)
            lastEntriesNs = nowNs
            // Trimming may have continued after the read; then the count does not match the cursor.
            if batch.signal != nil { gap.rank = nil }
        }
    }

    /// A batch with the state of its stream after delivery.
    struct Reading {
        var batch: StreamBatch
        fileprivate(set) var after: Stream
        /// Whether the answer has so many entries of the stream that older ones may have been trimmed unread.
        fileprivate(set) var isLong = false
    }

    private var streams: [String: Stream] = [:]
    private var follows = 0

    var isEmpty: Bool { streams.isEmpty }
    var names: [String] { Array(streams.keys) }

    subscript(name: String) -> Stream {
        guard let stream = streams[name] else {
            preconditionFailure("\(name) is read but not followed; followed: \(streams.keys.sorted())")
        }
        return stream
    }

    func position(of name: String) -> ReadPlan.Position { .init(stream: name, cursor: self[name].gap.cursor) }

    /// - Parameter mayBeHot: whether streams can count as hot; if false, all are cold.
    func forLanes(mayBeHot: Bool, nowNs: UInt64) -> [ReadLanes.Stream] {
        streams.map { name, stream in
            ReadLanes.Stream(name: name, start: stream.start, isHot: mayBeHot && stream.isHot(at: nowNs))
        }
    }

    mutating func change(_ changes: ReadPlan.Changes) {
        for (name, start) in changes {
            follows += 1
            streams[name] = start.map {
                Stream(follow: follows, gap: GapCheck(cursor: $0.cursor), server: $0.server)
            }
        }
    }

    /// Marks all streams as possibly trimmed unread, because reading stopped.
    mutating func uncover() {
        for name in streams.keys { streams[name]?.coveredNs = 0 }
    }

    /// Records that a read which named these streams was answered.
    mutating func cover(_ requested: [String: ReadLanes.Start], untilNs: UInt64) {
        for (name, start) in requested {
            guard let stream = streams[name], ReadLanes.isOfUse(start, stream.start) else { continue }
            streams[name]?.coveredNs = max(stream.coveredNs, untilNs)
        }
    }

    /// Returns the new part of an answer, without streams that were unfollowed or replaced since the read was sent and
    /// without entries that the other lane returned first. At most `maxEntries` of each stream.
    func readings(
        _ batches: [StreamBatch], requested: [String: ReadLanes.Start], maxEntries: Int, longMin: Int
    ) -> [Reading] {
        var readings: [Reading] = []
        for var batch in batches {
            guard let stream = streams[batch.stream], let start = requested[batch.stream],
                ReadLanes.isOfUse(start, stream.start)
            else { continue }
            let isLong = batch.entries.count >= longMin
            if start.cursor < stream.gap.cursor { batch.entries.removeAll { $0.id <= stream.gap.cursor } }
            if batch.entries.count > maxEntries { batch.entries.removeLast(batch.entries.count - maxEntries) }
            if !batch.entries.isEmpty { readings.append(Reading(batch: batch, after: stream, isLong: isLong)) }
        }
        return readings
    }

    /// Returns the entries of a stream that was read individually.
    func reading(_ batch: StreamBatch, nowNs: UInt64) -> Reading? {
        guard var after = streams[batch.stream], !batch.entries.isEmpty else { return nil }
        after.advance(over: batch, nowNs: nowNs)
        return Reading(batch: batch, after: after)
    }

    /// Compares a stream with its cursor before it is read.
    /// - Returns: a signal to deliver; nil if nothing was lost.
    mutating func compare(
        _ name: String, _ found: ReadPlan.Comparison, server: String, nowNs: UInt64
    ) -> Reading? {
        var after = self[name]
        guard let signal = compare(&after, found, server, nowNs) else {
            streams[name] = after
            return nil
        }
        return Reading(batch: StreamBatch(stream: name, signal: signal, entries: []), after: after)
    }

    /// Compares a stream with the cursor that entries were read from.
    mutating func confirm(
        _ reading: inout Reading, _ found: ReadPlan.Comparison, server: String, nowNs: UInt64
    ) {
        reading.batch.signal = compare(&reading.after, found, server, nowNs)
        // The stream was replaced after the read, so these entries belong to the former one.
        if case .regressed = reading.batch.signal { reading.batch.entries = [] }
    }

    private mutating func compare(
        _ stream: inout Stream, _ found: ReadPlan.Comparison, _ server: String, _ nowNs: UInt64
    ) -> StreamSignal? {
        let isOtherServer = stream.server.map { $0 != server } ?? false
        let signal = stream.gap.check(found.info, cursorExists: found.cursorExists)
        stream.coveredNs = nowNs
        stream.server = server
        if signal != nil {
            // A read still in flight returns the former state of the stream.
            follows += 1
            stream.follow = follows
        }
        return signal ?? (isOtherServer ? .serverChanged : nil)
    }

    /// Moves the cursors that take effect once the readings are delivered.
    func advanced(_ readings: [Reading], nowNs: UInt64) -> [Reading] {
        var readings = readings
        for index in readings.indices { readings[index].after.advance(over: readings[index].batch, nowNs: nowNs) }
        return readings
    }

    mutating func deliver(_ readings: [Reading], taken: Set<String>) {
        for reading in readings where taken.contains(reading.batch.stream) {
            streams[reading.batch.stream] = reading.after
        }
    }
}

extension UInt64 {
    /// Adds milliseconds to nanoseconds.
    func addingMs(_ ms: Int) -> UInt64 { self &+ UInt64(clamping: ms) * 1_000_000 }
}
