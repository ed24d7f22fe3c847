import CLibpq
import Clocks
import Glibc
import Threads

/// A connection in replication mode, confined to its thread.
final class ReplicationConnection {
    private let connection: OpaquePointer
    /// Why the server ended the reading, once it has.
    private var endError: PostgresError?

    /// Connects; blocks at most `timeoutMs` per host. Nil only when out of memory.
    init?(_ connectionString: String, applicationName: String, timeoutMs: Int) {
        // The last of the same keyword counts, and `dbname` is expanded to those of the connection string.
        let settings = [
            ("application_name", "\(applicationName)-tailer"), ("tcp_user_timeout", "15000"),
            ("keepalives_idle", "15"), ("keepalives_interval", "5"), ("target_session_attrs", "read-write"),
            ("dbname", connectionString), ("client_encoding", "UTF8"), ("replication", "database"),
            ("connect_timeout", String(max(1, timeoutMs / 1_000))),
        ]
        let keywords = settings.map { strdup($0.0) }
        let values = settings.map { strdup($0.1) }
        defer { for pointer in keywords + values { free(pointer) } }
        let pointer = (keywords.map { UnsafePointer($0) } + [nil]).withUnsafeBufferPointer { keywords in
            (values.map { UnsafePointer($0) } + [nil]).withUnsafeBufferPointer { values in
                PQconnectdbParams(keywords.baseAddress, values.baseAddress, 1)
            }
        }
        guard let pointer else { return nil }
        connection = pointer
        PQsetNoticeReceiver(connection, { _, _ in }, nil)
    }

    deinit {
        PQfinish(connection)
    }

    var error: PostgresError {
        let message = PQerrorMessage(connection).map { String(cString: $0).trimming() } ?? ""
        return PostgresError(.connectionLost(outcomeUnknown: false), message)
    }

    /// Starts the reading; returns the error.
    func start(_ command: String) -> PostgresError? {
        guard PQstatus(connection) == CONNECTION_OK else {
            return PostgresError(.connectionFailed, error.message)
        }
        // The texts of times, which follow the settings of the session.
        guard let settings = PQexec(connection, "SET TimeZone = 'UTC'; SET DateStyle = 'ISO, MDY'") else {
            return error
        }
        defer { PQclear(settings) }
        guard PQresultStatus(settings) == PGRES_COMMAND_OK else { return PostgresError(result: settings) }
        guard let result = PQexec(connection, command) else { return error }
        defer { PQclear(result) }
        guard PQresultStatus(result) == PGRES_COPY_BOTH else { return PostgresError(result: result) }
        return PQsetnonblocking(connection, 1) == 0 ? nil : error
    }

    /// Returns false if the connection broke.
    func send(_ status: StandbyStatus) -> Bool {
        let nowUs = Int64(WallClock.nowMs() - 946_684_800_000) * 1_000
        let bytes = status.encoded(nowUs: nowUs)
        return bytes.withUnsafeBytes { buffer in
            let base = buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
            return PQputCopyData(connection, base, Int32(buffer.count)) == 1 && PQflush(connection) >= 0
        }
    }

    /// Returns what has arrived, empty if nothing has.
    func receive(countMax: Int, bytesMax: Int) -> Result<[ReplicationFrame], PostgresError> {
        if let endError { return .failure(endError) }
        guard PQconsumeInput(connection) == 1 else { return .failure(error) }
        var frames: [ReplicationFrame] = []
        var bytes = 0
        while frames.count < countMax, bytes < bytesMax {
            var buffer: UnsafeMutablePointer<CChar>?
            let length = PQgetCopyData(connection, &buffer, 1)
            defer { PQfreemem(buffer) }
            switch length {
            case 0: return .success(frames)
            case 1...:
                bytes += Int(length)
                guard let frame = ReplicationFrame(UnsafeRawBufferPointer(start: buffer, count: Int(length))) else {
                    return .failure(PostgresError(.unsupported, "the server sent an unknown replication message"))
                }
                frames.append(frame)
            case -1:
                let error = end()
                endError = error
                // What came before the end is handed over first.
                return frames.isEmpty ? .failure(error) : .success(frames)
            default: return .failure(error)
            }
        }
        return .success(frames)
    }

    /// Returns the reason that the server ended the reading.
    private func end() -> PostgresError {
        guard let result = PQgetResult(connection) else { return error }
        defer { PQclear(result) }
        if PQresultStatus(result) == PGRES_FATAL_ERROR { return PostgresError(result: result) }
        return PostgresError(.connectionLost(outcomeUnknown: false), "the server ended the replication")
    }

    /// Waits for input, room for output, or a wake-up. Returns false if the connection has no socket any more.
    func wait(reads: Bool, _ wakeup: Wakeup, ms: Int32) -> Bool {
        let socket = PQsocket(connection)
        guard socket >= 0 else { return false }
        let isFlushed = PQflush(connection) == 0
        var events: Int16 = 0
        if reads { events |= Int16(POLLIN) }
        if !isFlushed { events |= Int16(POLLOUT) }
        var descriptors = [
            pollfd(fd: socket, events: events, revents: 0),
            pollfd(fd: wakeup.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        poll(&descriptors, 2, ms)
        if descriptors[1].revents != 0 { wakeup.drain() }
        // Without reading, an ended connection would wake this at once, again and again.
        if !reads, descriptors[0].revents & Int16(POLLHUP | POLLERR) != 0 { return false }
        return true
    }
}
