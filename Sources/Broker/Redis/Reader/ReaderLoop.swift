import CHiredis
import LiveModel
import Logging

/// What a reader's thread needs of the command connections.
protocol ReaderHelper: Sendable {
    /// Interrupts the blocking read on a connection.
    func unblock(_ connection: RedisConnection)
    func countReconnect()
}

/// The thread behind a reader: its own connection, on which `XREAD` blocks until there is something to return. A
/// change of followed streams interrupts it with `CLIENT UNBLOCK`, sent over the command connection and repeated until
/// the read returns (the first one may come before the server has begun to block).
///
/// A read that did block returns with the one stream that ended the blocking, although an event often goes to several
/// at once. So a reader of several, while there is little to read, takes a blocking read only as a sign that there is
/// something; a plain one, sent together with it, brings what there is in all streams: one wake-up for all.
///
/// When the stream is compared with the cursor (`GapCheck`): when it is newly followed, after a reconnect, when the
/// reader was away from the server for longer than `awayMs`, and when a read brings `StreamAppend.lengthMaxFloor`
/// entries or more. A stream keeps at least that many, so a shorter read without a pause cannot have lost any to
/// trimming by length; and trimming by age does not reach entries that young.
///
/// Never leaves its thread.
struct ReaderLoop {
    private struct Followed {
        var gap: GapCheck
        var needsCheck = true
        /// The server that has told about the stream so far; nil: none yet.
        var server: String?
    }

    private static let awayMs = 200
    /// A read that waited longer than this shows that there is little to read.
    private static let idleNs: UInt64 = 2_000_000
    private static let unblockMinMs = 10
    private static let unblockMaxMs = 500

    private let inbox: ReaderInbox
    private let configuration: RedisConfiguration
    private let place: any RedisPlace
    private let name: String
    private let logger: Logger
    private let helper: any ReaderHelper
    private var connection: RedisConnection?
    private var connectionsMade = 0
    private var placeVersion = 0
    private var backoff: Backoff
    private var nextAttemptNs: UInt64 = 0
    private var lastReadNs: UInt64 = 0
    private var isIdle = true
    private var streams: [String: Followed] = [:]

    init(
        _ inbox: ReaderInbox, _ configuration: RedisConfiguration, place: any RedisPlace, name: String,
        helper: any ReaderHelper, logger: Logger
    ) {
        self.inbox = inbox
        self.configuration = configuration
        self.place = place
        self.name = name
        self.helper = helper
        self.logger = logger
        backoff = Backoff(minMs: configuration.reconnectMinMs, maxMs: configuration.reconnectMaxMs)
    }

    /// Until the reader is closed.
    mutating func run() {
        while true {
            let (changes, maxEntries, isClosed) = inbox.take()
            if isClosed { break }
            for (stream, start) in changes {
                streams[stream] = start.map { Followed(gap: GapCheck(cursor: $0.cursor), server: $0.server) }
            }
            noticeMove()
            guard let maxEntries, !streams.isEmpty else {
                _ = inbox.wake.wait(waitMs: nil)
                continue
            }
            guard let connection = connected() else {
                _ = inbox.wake.wait(waitMs: msUntil(nextAttemptNs))
                continue
            }
            do throws(RedisConnection.Failure) {
                switch try read(connection, maxEntries: maxEntries) {
                case .success(let batches): deliver(batches)
                case .failure(let error):
                    if error.code == .unavailable {
                        place.refused(error.detail, by: connection.endpoint)
                        lose(error.detail)
                    } else {
                        inbox.fail(error)
                    }
                }
            } catch {
                lose(error.reason)
            }
        }
        connection = nil
        inbox.end()
    }

    // MARK: Connection

    /// The connection, made now if it is time to; nil: not before `nextAttemptNs`.
    private mutating func connected() -> RedisConnection? {
        if let connection { return connection }
        guard monotonicNs() >= nextAttemptNs else { return nil }
        do throws(RedisConnection.Failure) {
            let made = try place.connect(name: name)
            for stream in streams.keys { streams[stream]?.needsCheck = true }
            if connectionsMade > 0 { helper.countReconnect() }
            connectionsMade += 1
            connection = made
            return made
        } catch {
            place.failed()
            nextAttemptNs = addMs(backoff.nextMs(), to: monotonicNs())
            return nil
        }
    }

    private mutating func noticeMove() {
        guard place.version != placeVersion else { return }
        placeVersion = place.version
        if let connection, !place.isCurrent(connection.endpoint) { lose("no longer the primary") }
        backoff.reset()
        if connection == nil { nextAttemptNs = 0 }
    }

    private mutating func lose(_ reason: String) {
        connection = nil
        place.failed()
        nextAttemptNs = addMs(backoff.nextMs(), to: monotonicNs())
        logger.warning("redis reader lost its connection", metadata: ["reason": "\(reason)"])
    }

    // MARK: Reading

    private typealias Reading = (batch: StreamBatch, after: Followed)

    private mutating func read(
        _ connection: RedisConnection, maxEntries: Int
    ) throws(RedisConnection.Failure) -> Result<[Reading], BrokerError> {
        if lastReadNs != 0, monotonicNs() > addMs(ReaderLoop.awayMs, to: lastReadNs) {
            for stream in streams.keys { streams[stream]?.needsCheck = true }
        }
        var signals: [Reading] = []
        let suspects = streams.filter { $0.value.needsCheck }
        if !suspects.isEmpty {
            switch try check(connection, suspects) {
            case .failure(let error): return .failure(error)
            case .success(let checked):
                for (stream, (followed, signal)) in checked {
                    if let signal {
                        signals.append((StreamBatch(stream: stream, signal: signal, entries: []), followed))
                    } else {
                        streams[stream] = followed
                    }
                }
            }
            lastReadNs = monotonicNs()
            if !signals.isEmpty { return .success(signals) }
        }
        return try readEntries(connection, maxEntries: maxEntries)
    }

    private mutating func readEntries(
        _ connection: RedisConnection, maxEntries: Int
    ) throws(RedisConnection.Failure) -> Result<[Reading], BrokerError> {
        let names = Array(streams.keys)
        let cursors = names.map { (streams[$0]?.gap.cursor ?? .zero).description }
        func read(_ words: [String], into commands: inout CommandBuffer) {
            commands.begin(argumentCount: words.count + 2 * names.count)
            for word in words { commands.argument(word) }
            for name in names { commands.argument(name) }
            for cursor in cursors { commands.argument(cursor) }
        }
        let blockMs = String(max(1, configuration.readBlockMs))
        let count = String(maxEntries)
        let isAnnounced = isIdle && names.count > 1
        var commands = CommandBuffer()
        read(["XREAD", "COUNT", isAnnounced ? "1" : count, "BLOCK", blockMs, "STREAMS"], into: &commands)
        if isAnnounced { read(["XREAD", "COUNT", count, "STREAMS"], into: &commands) }
        let sentNs = monotonicNs()
        try connection.write(commands.bytes)
        try connection.flush()
        guard try awaitReply(connection) else { return .success([]) }
        isIdle = monotonicNs() - sentNs > ReaderLoop.idleNs
        if isAnnounced { _ = try connection.reply { (_: UnsafePointer<redisReply>) throws(Never) in } }
        let decoded = try connection.reply(StreamBatch.decodeAll)
        lastReadNs = monotonicNs()
        backoff.reset()
        guard case .success(let batches) = decoded else { return decoded.map { _ in [] } }

        var readings: [Reading] = []
        for batch in batches {
            guard let followed = streams[batch.stream] else { continue }
            readings.append((batch, followed))
        }
        let long = readings.filter { $0.batch.entries.count >= StreamAppend.lengthMaxFloor }
        if !long.isEmpty {
            let suspects = Dictionary(uniqueKeysWithValues: long.map { ($0.batch.stream, $0.after) })
            switch try check(connection, suspects) {
            case .failure(let error): return .failure(error)
            case .success(let checked):
                for index in readings.indices {
                    guard let (followed, signal) = checked[readings[index].batch.stream] else { continue }
                    readings[index].batch.signal = signal
                    readings[index].after = followed
                    // The stream was replaced after it was read: these entries belong to the past.
                    if case .regressed = signal { readings[index].batch.entries = [] }
                }
            }
        }
        for index in readings.indices {
            let entries = readings[index].batch.entries
            guard let last = entries.last else { continue }
            readings[index].after.gap.advance(to: last.id, by: entries.count)
            // Trimming may have gone on behind the read, then the count does not fit the cursor.
            if readings[index].batch.signal != nil { readings[index].after.gap.rank = nil }
        }
        return .success(readings)
    }

    private mutating func deliver(_ readings: [Reading]) {
        guard !readings.isEmpty else { return }
        let delivered = inbox.deliver(readings.map(\.batch))
        for reading in readings where delivered.contains(reading.batch.stream) {
            streams[reading.batch.stream] = reading.after
        }
    }

    /// Waits for the reply of a blocking read; false when the reader is closed.
    private func awaitReply(_ connection: RedisConnection) throws(RedisConnection.Failure) -> Bool {
        let silentNs = addMs(configuration.readBlockMs + configuration.commandTimeoutMs, to: monotonicNs())
        var unblockMs: Int?
        while true {
            let (raised, readable) = inbox.wake.wait(
                socket: connection.fd, waitMs: min(unblockMs ?? .max, msUntil(silentNs)))
            if readable { return true }
            if monotonicNs() >= silentNs { throw RedisConnection.Failure(reason: "no answer") }
            if raised {
                let interruption = inbox.interruption()
                if interruption.isClosed { return false }
                if place.version != placeVersion, !place.isCurrent(connection.endpoint) {
                    throw RedisConnection.Failure(reason: "no longer the primary")
                }
                if interruption.isNeeded, unblockMs == nil {
                    unblockMs = ReaderLoop.unblockMinMs
                    unblock(connection)
                }
            } else if let waited = unblockMs {
                unblockMs = min(ReaderLoop.unblockMaxMs, waited * 2)
                unblock(connection)
            }
        }
    }

    private func unblock(_ connection: RedisConnection) {
        helper.unblock(connection)
    }

    // MARK: Gaps

    private typealias Checked = [String: (Followed, StreamSignal?)]

    private func check(
        _ connection: RedisConnection, _ suspects: [String: Followed]
    ) throws(RedisConnection.Failure) -> Result<Checked, BrokerError> {
        var commands = CommandBuffer()
        for (stream, followed) in suspects {
            let cursor = followed.gap.cursor.description
            commands.add(["XINFO", "STREAM", stream])
            commands.add(["XRANGE", stream, cursor, cursor])
        }
        let values = try connection.call(commands)
        var checked: Checked = [:]
        do throws(BrokerError) {
            for (index, (stream, followed)) in suspects.enumerated() {
                var after = followed
                let info = try StreamInfo.decode(values[2 * index])
                let cursorExists = !(values[2 * index + 1].array ?? []).isEmpty
                let signal = after.gap.check(info, cursorExists: cursorExists)
                after.needsCheck = false
                after.server = connection.serverID
                let isOther = followed.server.map { $0 != connection.serverID } ?? false
                checked[stream] = (after, signal ?? (isOther ? .serverChanged : nil))
            }
            return .success(checked)
        } catch {
            return .failure(error)
        }
    }
}
