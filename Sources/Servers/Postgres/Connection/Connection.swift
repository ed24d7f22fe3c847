import CLibpq
import Glibc

/// A connection being handed over from the thread that opened it to the thread that will own it.
struct OpenedConnection: @unchecked Sendable {
    let connection: Connection?

    init(_ connection: sending Connection?) {
        self.connection = connection
    }
}

/// One `PGconn`, used by the thread that holds its driver.
final class Connection {
    private let connection: OpaquePointer
    private var scratch = ParameterScratch()

    /// Begins to connect; blocks only to resolve the host's name. Nil only when out of memory.
    init?(configuration: PostgresConfiguration, role: ConnectionRole, hosts: ConnectionHosts, hostNumber: Int) {
        // `dbname` contains the connection string. It overrides the keywords before it; those after it override it.
        var settings = [
            ("application_name", "\(configuration.applicationName)-\(role.rawValue)"),
            ("tcp_user_timeout", "15000"), ("keepalives_idle", "15"), ("keepalives_interval", "5"),
            ("dbname", configuration.connectionString),
            ("client_encoding", "UTF8"),
        ]
        if hosts.needsWriter { settings.insert(("target_session_attrs", "read-write"), at: 0) }
        settings += hosts.choices[hostNumber % hosts.choices.count].map { ($0.keyword, $0.value) }
        let keywords = settings.map { strdup($0.0) }
        let values = settings.map { strdup($0.1) }
        defer { for pointer in keywords + values { free(pointer) } }
        let pointer = (keywords.map { UnsafePointer($0) } + [nil]).withUnsafeBufferPointer { keywords in
            (values.map { UnsafePointer($0) } + [nil]).withUnsafeBufferPointer { values in
                PQconnectStartParams(keywords.baseAddress, values.baseAddress, 1)
            }
        }
        guard let pointer else { return nil }
        connection = pointer
        // libpq would print the server's notices on stderr.
        PQsetNoticeReceiver(connection, { _, _ in }, nil)
        // Makes a refusal include its SQLSTATE: `connectError`.
        PQsetErrorVerbosity(connection, PQERRORS_VERBOSE)
    }

    deinit {
        PQfinish(connection)
    }

    var socket: Int32 { PQsocket(connection) }
    var isBad: Bool { PQstatus(connection) == CONNECTION_BAD }
    /// Whether no transaction was open as of the last answer.
    var isIdle: Bool { PQtransactionStatus(connection) == PQTRANS_IDLE }

    var errorMessage: String { PQerrorMessage(connection).map { String(cString: $0).trimming() } ?? "" }

    /// The reason that connecting failed.
    var connectError: PostgresError {
        ConnectRefusal.error(
            PQerrorMessage(connection).map { String(cString: $0) } ?? "",
            needsPassword: PQconnectionNeedsPassword(connection) == 1)
    }

    /// Shortens messages, because errors have separate fields once connected.
    func shortenMessages() { PQsetErrorVerbosity(connection, PQERRORS_DEFAULT) }

    /// Whether the server itself refuses writes; a caller's own read-only transaction does not count.
    var isServerReadOnly: Bool {
        let flags: [String] = ["in_hot_standby", "default_transaction_read_only"]
        return flags.contains { name in
            PQparameterStatus(connection, name).map { String(cString: $0) } == "on"
        }
    }

    func continueConnecting() -> PostgresPollingStatusType { PQconnectPoll(connection) }
    func setNonblocking() -> Bool { PQsetnonblocking(connection, 1) == 0 }
    func enterPipeline() -> Bool { PQenterPipelineMode(connection) == 1 }

    // MARK: sending; false means that the connection is no longer usable

    func sendScript(_ sql: String) -> Bool { PQsendQuery(connection, sql) == 1 }
    func sendSync() -> Bool { PQpipelineSync(connection) == 1 }

    func sendDeallocate(_ name: String) -> Bool { sendUnprepared("DEALLOCATE \(name)", []) && sendSync() }

    func sendScriptOutsidePipeline(_ sql: String) -> Bool {
        PQexitPipelineMode(connection) == 1 && sendScript(sql)
    }

    func send(_ statement: Statement, _ parameters: [Parameter], _ use: PreparedStatements.Use) -> Bool {
        switch use {
        case .named(let name): sendNamed(name, parameters)
        case .unprepared: sendUnprepared(statement.sql, parameters)
        case .prepareFirst(let name):
            PQsendPrepare(connection, name, statement.sql, 0, nil) == 1 && sendNamed(name, parameters)
        }
    }

    private func sendNamed(_ name: String, _ parameters: [Parameter]) -> Bool {
        scratch.fill(parameters) { values, lengths, formats in
            PQsendQueryPrepared(connection, name, Int32(parameters.count), values, lengths, formats, 0) == 1
        }
    }

    private func sendUnprepared(_ sql: String, _ parameters: [Parameter]) -> Bool {
        scratch.fill(parameters) { values, lengths, formats in
            PQsendQueryParams(connection, sql, Int32(parameters.count), nil, values, lengths, formats, 0) == 1
        }
    }

    enum Flushed {
        case all, partly, failed
    }

    func flush() -> Flushed {
        switch PQflush(connection) {
        case 0: .all
        case 1: .partly
        default: .failed
        }
    }

    // MARK: receiving

    func consumeInput() -> Bool { PQconsumeInput(connection) == 1 }
    var isBusy: Bool { PQisBusy(connection) == 1 }
    /// The next result, owned by the caller. Nil ends a command.
    func nextResult() -> OpaquePointer? { PQgetResult(connection) }

    /// Returns a handle for another thread, which calls `PQcancel` and frees it.
    func cancelHandle() -> OpaquePointer? { PQgetCancel(connection) }
}

extension PostgresError {
    /// Creates the error of a result. The caller frees the result afterwards.
    init(result: OpaquePointer) {
        func field(_ code: Character) -> String? {
            guard let ascii = code.asciiValue else { return nil }
            return PQresultErrorField(result, Int32(ascii)).map { String(cString: $0) }
        }
        let state = field("C")
        let message = field("M") ?? PQresultErrorMessage(result).map { String(cString: $0) } ?? ""
        if let state {
            self.init(.server(sqlState: state), message)
        } else {
            // libpq created this result itself, because the connection failed.
            self.init(.connectionLost(outcomeUnknown: true), message)
        }
        detail = field("D")
        hint = field("H")
        schema = field("s")
        table = field("t")
        column = field("c")
        constraint = field("n")
        dataType = field("d")
        position = field("P").flatMap { Int($0) }
        routine = field("R")
        let severity = field("V")
        isFatal = severity == "FATAL" || severity == "PANIC"
    }
}

/// Lays out parameters in reusable storage, in the form that libpq expects.
private struct ParameterScratch {
    /// Storage that a huge parameter enlarged beyond this is freed.
    private static let keptBytesMax = 1 << 20

    private var bytes: [UInt8] = []
    private var offsets: [Int] = []
    private var pointers: [UnsafePointer<CChar>?] = []
    private var lengths: [Int32] = []
    private var formats: [Int32] = []

    mutating func fill<T>(
        _ parameters: [Parameter],
        _ body: (UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?) -> T
    ) -> T {
        if parameters.isEmpty { return body(nil, nil, nil) }
        bytes.removeAll(keepingCapacity: bytes.capacity <= Self.keptBytesMax)
        offsets.removeAll(keepingCapacity: true)
        pointers.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
        formats.removeAll(keepingCapacity: true)
        for parameter in parameters {
            switch parameter {
            case .null:
                offsets.append(-1)
                lengths.append(0)
                formats.append(0)
            case .text(let text):
                offsets.append(bytes.count)
                lengths.append(0)
                formats.append(0)
                bytes.append(contentsOf: text.utf8)
                bytes.append(0)
            case .binary(let value):
                offsets.append(bytes.count)
                lengths.append(Int32(value.count))
                formats.append(1)
                bytes.append(contentsOf: value)
                bytes.append(0)
            }
        }
        return bytes.withUnsafeBytes { buffer in
            for offset in offsets {
                let base = offset < 0 ? nil : buffer.baseAddress
                pointers.append(base.map { ($0 + offset).assumingMemoryBound(to: CChar.self) })
            }
            return pointers.withUnsafeBufferPointer { pointers in
                lengths.withUnsafeBufferPointer { lengths in
                    formats.withUnsafeBufferPointer { formats in
                        body(pointers.baseAddress, lengths.baseAddress, formats.baseAddress)
                    }
                }
            }
        }
    }
}
