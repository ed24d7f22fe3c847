import Streams
import CHiredis
import LiveModel
import Logging

/// What a reader's thread needs of the command connections.
protocol ReaderHelper: Sendable {
    /// Interrupts the blocking read on a connection.
    func unblock(_ connection: RedisConnection)
    func countReconnect()
}

/// The thread behind a reader: its own connections, on which `XREAD` blocks until there is something to return; one for
/// streams that had something lately, one for the others (`ReadingLanes`). A change of followed streams interrupts the
/// second with `CLIENT UNBLOCK`, sent over the command connection and repeated until the read returns (the first one may
/// come before the server has begun to block).
///
/// A read that did block returns with the one stream that ended the blocking, although an event often goes to several
/// at once. So a reader of several, while there is little to read, sends a plain read together with it, of the streams
/// that had something lately: one wake-up for all.
///
/// When the stream is compared with the cursor (`GapCheck`): when it is newly followed, after a reconnect, when the
/// reader was away from the server for longer than `awayMs`, and when a read brings `StreamAppend.lengthMaxFloor`
/// entries or more. A stream keeps at least that many, so a shorter read without a pause cannot have lost any to
/// trimming by length; and trimming by age does not reach entries that young.
///
/// Never leaves its thread. One long file, because connecting, reading and comparing share the state of one thread, which
/// is private to it; which lane reads what is decided in `ReadingLanes`, what a comparison means in `GapCheck`.
struct ReaderLoop {
    private typealias Lane = ReadingLanes.Lane

    private struct Followed {
        /// The stream's name as commands carry it.
        let encodedName: [UInt8]
        var follow: Int
        var gap: GapCheck
        /// Until then nothing can have been trimmed unseen: the stream was checked, or named by a read that was answered;
        /// 0: not known.
        var coveredNs: UInt64 = 0
        /// The server that has told about the stream so far; nil: none yet.
        var server: String?
        /// When its last entries came; 0: never.
        var lastEntriesNs: UInt64 = 0

        init(_ stream: String, after start: ReaderInbox.Start, follow: Int) {
            var name = CommandBuffer()
            name.argument(stream)
            encodedName = name.bytes
            self.follow = follow
            gap = GapCheck(cursor: start.cursor)
            server = start.server
        }

        var start: ReadingLanes.Start { .init(follow: follow, cursor: gap.cursor) }

        func isLively(at nowNs: UInt64) -> Bool {
            lastEntriesNs != 0 && nowNs < addMs(ReaderLoop.latelyMs, to: lastEntriesNs)
        }
    }

    /// A connection and the read on it.
    private struct Line {
        var connection: RedisConnection?
        var sentNs: UInt64 = 0
        var hasPlainRead = false
        /// The answer to the read under way is there.
        var isAnswered = false
        /// When the answer came, or earlier.
        var heardNs: UInt64 = 0
        /// The last read waited for long: there is little to read.
        var isIdle = true
    }

    private static let awayMs = 200
    /// A read that waited longer than this shows that there is little to read.
    private static let idleNs: UInt64 = 2_000_000
    /// A stream whose last entries are not older than this has something lately.
    private static let latelyMs = 60_000
    private static let unblockMinMs = 10
    private static let unblockMaxMs = 500

    private let inbox: ReaderInbox
    private let configuration: RedisConfiguration
    private let place: any RedisEndpointResolver
    private let name: String
    private let logger: Logger
    private let helper: any ReaderHelper
    private var lines = Array(repeating: Line(), count: Lane.allCases.count)
    private var lanes = ReadingLanes()
    private var mustCountReconnect = false
    private var placeVersion = 0
    private var backoff: Backoff
    private var nextAttemptNs: UInt64 = 0
    /// Until then the sockets were watched.
    private var watchedNs: UInt64 = 0
    /// While the quiet read is being interrupted: when to try again, and after how long then.
    private var unblocking: (nextNs: UInt64, waitMs: Int)?
    private var streams: [String: Followed] = [:]
    private var follows = 0
    /// The server does not say who it is, so nobody knows whether two connections lead to the same.
    private var isAnonymous = false
    /// A second connection could not be had: none is wanted before.
    private var togetherUntilNs: UInt64 = 0
    /// The slot of a cluster is on its way to another node; until when that is believed without asking again.
    private var moving: (slot: MovingSlot, untilNs: UInt64)?
    /// Reading it ended with a refusal.
    private var isRefusedThere = false

    init(
        _ inbox: ReaderInbox, _ configuration: RedisConfiguration, place: any RedisEndpointResolver, name: String,
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
                follows += 1
                streams[stream] = start.map { Followed(stream, after: $0, follow: follows) }
            }
            noticeMove()
            guard let maxEntries, !streams.isEmpty else {
                _ = inbox.wake.wait(waitMs: nil)
                continue
            }
            guard monotonicNs() >= nextAttemptNs || lines.contains(where: { $0.connection != nil }) else {
                _ = inbox.wake.wait(waitMs: msUntil(nextAttemptNs))
                continue
            }
            do throws(RedisConnection.Failure) {
                if try readMoving(maxEntries: maxEntries) { continue }
                switch try read(maxEntries: maxEntries) {
                case .success(let readings): deliver(readings)
                case .failure(let error):
                    if MovingSlot.isReason(error) {
                        lose("its slot is moving: \(error.detail)")
                        moving = (MovingSlot(place, name: name), addMs(MovingSlot.roundsMs, to: monotonicNs()))
                        // At once, unless the other side has just refused it.
                        if !isRefusedThere { nextAttemptNs = 0 }
                        isRefusedThere = false
                    } else if error.code == .unavailable {
                        if let endpoint = lines.lazy.compactMap(\.connection?.endpoint).first {
                            place.refused(error.detail, by: endpoint)
                        }
                        lose(error.detail)
                    } else {
                        inbox.fail(error)
                    }
                }
            } catch {
                moving = nil
                lose(error.reason)
            }
        }
        for index in lines.indices { lines[index].connection = nil }
        inbox.end()
    }

    // MARK: Connections

    /// The lane's connection, made now if need be; nil: there is none. Then either both are gone and `nextAttemptNs` says
    /// when to try again, or all is read over the quiet one (`togetherUntilNs`, `isAnonymous`).
    private mutating func connection(of lane: Lane) throws(RedisConnection.Failure) -> RedisConnection? {
        if let connection = lines[lane.rawValue].connection { return connection }
        let made: RedisConnection
        do throws(RedisConnection.Failure) {
            made = try place.connect(name: name)
        } catch {
            if lane == .lively, lines[Lane.quiet.rawValue].connection != nil {
                // The other one works: it goes without.
                togetherUntilNs = addMs(configuration.reconnectMaxMs, to: monotonicNs())
                return nil
            }
            place.failed()
            nextAttemptNs = addMs(backoff.nextMs(), to: monotonicNs())
            dropConnections()
            return nil
        }
        if lane == .lively, !made.isIdentified {
            isAnonymous = true
            return nil
        }
        if let other = lines.lazy.compactMap(\.connection).first, other.serverID != made.serverID {
            throw RedisConnection.Failure(reason: "another server answers")
        }
        if mustCountReconnect { helper.countReconnect() }
        mustCountReconnect = false
        lines[lane.rawValue].connection = made
        return made
    }

    private mutating func noticeMove() {
        guard place.version != placeVersion else { return }
        placeVersion = place.version
        if !isCurrent { lose("no longer the primary") }
        backoff.reset()
        if !lines.contains(where: { $0.connection != nil }) { nextAttemptNs = 0 }
    }

    private var isCurrent: Bool {
        lines.lazy.compactMap(\.connection).allSatisfy { place.isCurrent($0.endpoint) }
    }

    private mutating func lose(_ reason: String) {
        dropConnections()
        place.failed()
        nextAttemptNs = addMs(backoff.nextMs(), to: monotonicNs())
        logger.warning("redis reader lost its connection", metadata: ["reason": "\(reason)"])
    }

    private mutating func dropConnections() {
        if lines.contains(where: { $0.connection != nil }) { mustCountReconnect = true }
        lines = Array(repeating: Line(), count: Lane.allCases.count)
        lanes.lost()
        unblocking = nil
        for stream in streams.keys { streams[stream]?.coveredNs = 0 }
    }

    // MARK: Reading

    private typealias Reading = (batch: StreamBatch, after: Followed)

    /// Sends what is to be sent and waits for an answer. Nothing: look at the inbox again.
    private mutating func read(maxEntries: Int) throws(RedisConnection.Failure) -> Result<[Reading], BrokerError> {
        let nowNs = monotonicNs()
        let mayPart = !isAnonymous && nowNs >= togetherUntilNs
        let streams = streams.mapValues { stream in
            ReadingLanes.Stream(start: stream.start, isLively: mayPart && stream.isLively(at: nowNs))
        }
        for (lane, names) in lanes.next(streams) {
            guard let connection = try connection(of: lane) else {
                if lines[Lane.quiet.rawValue].connection != nil { continue }
                return .success([])
            }
            switch try signals(of: names, connection) {
            case .success(let signals) where signals.isEmpty: break
            case let answer: return answer
            }
            try send(lane, names, connection, maxEntries: maxEntries)
        }
        // Nobody would hear of its end.
        for lane in Lane.allCases where lanes.isFree(lane) { lines[lane.rawValue].connection = nil }
        if unblocking == nil, lanes.isAnyLeftOut(streams) { unblock(waitMs: ReaderLoop.unblockMinMs) }
        guard let lane = try awaitAnswer() else { return .success([]) }
        return try answer(of: lane, maxEntries: maxEntries)
    }

    /// Compares streams with their cursors that may have been trimmed while nobody read them.
    private mutating func signals(
        of names: [String], _ connection: RedisConnection
    ) throws(RedisConnection.Failure) -> Result<[Reading], BrokerError> {
        let nowNs = monotonicNs()
        var suspects: [String: Followed] = [:]
        for name in names {
            if let followed = streams[name], nowNs > addMs(ReaderLoop.awayMs, to: followed.coveredNs) {
                suspects[name] = followed
            }
        }
        if suspects.isEmpty { return .success([]) }
        var signals: [Reading] = []
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
        return .success(signals)
    }

    private mutating func send(
        _ lane: Lane, _ names: [String], _ connection: RedisConnection, maxEntries: Int
    ) throws(RedisConnection.Failure) {
        let nowNs = monotonicNs()
        let all = names.compactMap { streams[$0] }
        let lively = lines[lane.rawValue].isIdle && all.count > 1 ? all.filter { $0.isLively(at: nowNs) } : []
        func read(_ words: [String], _ streams: [Followed], into commands: inout CommandBuffer) {
            commands.begin(argumentCount: words.count + 2 * streams.count)
            for word in words { commands.argument(word) }
            for stream in streams { commands.encoded(stream.encodedName) }
            for stream in streams { commands.argument(stream.gap.cursor) }
        }
        let blockMs = String(max(1, min(configuration.readBlockMs, place.blockMsMax)))
        let count = String(maxEntries)
        var commands = CommandBuffer()
        // The plain read brings the rest. But of other streams it must be seen whether there was much.
        let blockingCount = lively.isEmpty ? count : String(min(maxEntries, StreamAppend.lengthMaxFloor))
        read(["XREAD", "COUNT", blockingCount, "BLOCK", blockMs, "STREAMS"], all, into: &commands)
        if !lively.isEmpty { read(["XREAD", "COUNT", count, "STREAMS"], lively, into: &commands) }
        try connection.write(commands.bytes)
        try connection.flush()
        lanes.sent(lane, Dictionary(uniqueKeysWithValues: zip(names, all.map(\.start))))
        lines[lane.rawValue].sentNs = nowNs
        lines[lane.rawValue].hasPlainRead = !lively.isEmpty
        lines[lane.rawValue].isAnswered = false
    }

    /// Reads the answer that is there.
    /// - Parameter maxEntries: of each stream; the read may have been sent for another `next`.
    private mutating func answer(
        of lane: Lane, maxEntries: Int
    ) throws(RedisConnection.Failure) -> Result<[Reading], BrokerError> {
        let line = lines[lane.rawValue]
        guard let connection = line.connection else { return .success([]) }
        let asked = lanes.answered(lane)
        if lane == .quiet { unblocking = nil }
        lines[lane.rawValue].isIdle = monotonicNs() - line.sentNs > ReaderLoop.idleNs
        var decoded = try connection.reply(StreamBatch.decodeAll)
        if line.hasPlainRead {
            let more = try connection.reply(StreamBatch.decodeAll)
            if case .success(let first) = decoded {
                // What both read, the second has at least as much of.
                decoded = more.map { more in more + first.filter { one in !more.contains { $0.stream == one.stream } } }
            }
        }
        backoff.reset()
        guard case .success(let batches) = decoded else { return decoded.map { _ in [] } }

        for (stream, start) in asked {
            guard let followed = streams[stream], ReadingLanes.isOfUse(start, followed.start) else { continue }
            streams[stream]?.coveredNs = max(followed.coveredNs, line.heardNs)
        }
        var readings: [Reading] = []
        for var batch in batches {
            guard let followed = streams[batch.stream], let start = asked[batch.stream],
                ReadingLanes.isOfUse(start, followed.start)
            else { continue }
            // The other lane may have brought the first of them.
            if start.cursor < followed.gap.cursor { batch.entries.removeAll { $0.id <= followed.gap.cursor } }
            if batch.entries.count > maxEntries { batch.entries.removeLast(batch.entries.count - maxEntries) }
            if !batch.entries.isEmpty { readings.append((batch, followed)) }
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
        let nowNs = monotonicNs()
        for index in readings.indices {
            let entries = readings[index].batch.entries
            guard let last = entries.last else { continue }
            readings[index].after.gap.advance(to: last.id, by: entries.count)
            readings[index].after.lastEntriesNs = nowNs
            // Trimming may have gone on behind the read, then the count does not fit the cursor.
            if readings[index].batch.signal != nil { readings[index].after.gap.rank = nil }
        }
        return .success(readings)
    }

    /// One round over all streams while their slot is moving. What is lost meanwhile is found when reading goes on in the
    /// ordinary way: new connections compare.
    /// - Returns: false when the slot is not known to be moving.
    private mutating func readMoving(maxEntries: Int) throws(RedisConnection.Failure) -> Bool {
        guard var (slot, untilNs) = moving else { return false }
        moving = nil
        guard monotonicNs() < untilNs else { return false }
        var readings: [Reading] = []
        for (_, stream) in streams {
            var command = CommandBuffer()
            command.begin(argumentCount: 6)
            for word in ["XREAD", "COUNT", String(maxEntries), "STREAMS"] { command.argument(word) }
            command.encoded(stream.encodedName)
            command.argument(stream.gap.cursor)
            let answer = try slot.answer(command)
            guard case .success(let batches) = answer else {
                if case .failure(let error) = answer {
                    logger.info("reading of a moving slot ends", metadata: ["reason": "\(error.detail)"])
                }
                isRefusedThere = true
                deliver(readings)
                return false
            }
            for batch in batches {
                guard let last = batch.entries.last else { continue }
                var after = stream
                after.gap.advance(to: last.id, by: batch.entries.count)
                after.lastEntriesNs = monotonicNs()
                readings.append((batch, after))
            }
        }
        moving = (slot, untilNs)
        deliver(readings)
        if readings.isEmpty { _ = inbox.wake.wait(waitMs: MovingSlot.pauseMs) }
        return true
    }

    private mutating func deliver(_ readings: [Reading]) {
        guard !readings.isEmpty else { return }
        let delivered = inbox.deliver(readings.map(\.batch))
        for reading in readings where delivered.contains(reading.batch.stream) {
            streams[reading.batch.stream] = reading.after
        }
    }

    /// Waits until a read is answered. Nil: look at the inbox first.
    private mutating func awaitAnswer() throws(RedisConnection.Failure) -> Lane? {
        while true {
            if let lane = Lane.allCases.first(where: { lines[$0.rawValue].isAnswered && !lanes.isFree($0) }) {
                return lane
            }
            let underWay = Lane.allCases.filter { !lanes.isFree($0) }
            guard !underWay.isEmpty else { return nil }
            let patienceMs = configuration.readBlockMs + configuration.commandTimeoutMs
            let silentNs = underWay.map { addMs(patienceMs, to: lines[$0.rawValue].sentNs) }.min() ?? 0
            let unwatchedSinceNs = watchedNs
            let startNs = monotonicNs()
            let (raised, isLivelyReadable, isQuietReadable) = inbox.wake.wait(
                sockets: (socket(of: .lively), socket(of: .quiet)),
                waitMs: msUntil(min(silentNs, unblocking?.nextNs ?? .max)))
            watchedNs = monotonicNs()
            // It may have come while nobody looked.
            let isFromAbsence = unwatchedSinceNs != 0 && startNs > addMs(ReaderLoop.awayMs, to: unwatchedSinceNs)
            for (lane, isReadable) in [(Lane.lively, isLivelyReadable), (.quiet, isQuietReadable)] where isReadable {
                lines[lane.rawValue].isAnswered = true
                lines[lane.rawValue].heardNs =
                    isFromAbsence ? max(unwatchedSinceNs, lines[lane.rawValue].sentNs) : watchedNs
            }
            if isLivelyReadable || isQuietReadable { continue }
            if watchedNs >= silentNs { throw RedisConnection.Failure(reason: "no answer") }
            if raised {
                let interruption = inbox.interruption()
                if interruption.isClosed { return nil }
                if place.version != placeVersion, !isCurrent {
                    throw RedisConnection.Failure(reason: "no longer the primary")
                }
                // Without a change, nobody waits for what is read: it stays where it is until somebody does.
                guard interruption.isNeeded else { continue }
                if !interruption.hasChanges || lanes.isFree(.quiet) { return nil }
                if unblocking == nil { unblock(waitMs: ReaderLoop.unblockMinMs) }
            } else if let (nextNs, waitMs) = unblocking, watchedNs >= nextNs {
                unblock(waitMs: min(ReaderLoop.unblockMaxMs, waitMs * 2))
            }
        }
    }

    /// Nil while nothing is to come from there.
    private func socket(of lane: Lane) -> Int32? {
        lanes.isFree(lane) || lines[lane.rawValue].isAnswered ? nil : lines[lane.rawValue].connection?.fd
    }

    private mutating func unblock(waitMs: Int) {
        unblocking = (addMs(waitMs, to: monotonicNs()), waitMs)
        if let connection = lines[Lane.quiet.rawValue].connection { helper.unblock(connection) }
    }

    // MARK: Gaps

    private typealias Checked = [String: (Followed, StreamSignal?)]

    private mutating func check(
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
                after.coveredNs = monotonicNs()
                after.server = connection.serverID
                if signal != nil {
                    // What a read that is still under way brings belongs to what was there before.
                    follows += 1
                    after.follow = follows
                }
                let isOther = followed.server.map { $0 != connection.serverID } ?? false
                checked[stream] = (after, signal ?? (isOther ? .serverChanged : nil))
            }
            return .success(checked)
        } catch {
            return .failure(error)
        }
    }
}
