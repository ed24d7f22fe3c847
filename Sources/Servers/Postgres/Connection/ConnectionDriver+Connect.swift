import CLibpq
import Clocks
import Logging
import Synchronization
import Threads

/// The connecting part of the driver: reports facts to `ConnectMachine` and performs its decisions.
extension ConnectionDriver {
    /// Selects what `ConnectMachine.Server` reads: the timeline, empty on a standby, and whether commits wait for
    /// standbys.
    private static let serverScript = """
        SELECT CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END
            || CASE WHEN pg_is_in_recovery() OR current_setting('synchronous_standby_names') = '' THEN ' alone'
               ELSE '' END
        """

    func perform(_ action: Connector.Action?, opened: Connection? = nil) {
        switch action {
        case nil:
            break
        case .open(let attempt, let host):
            startOpening(attempt, host)
        case .adopt:
            connection = opened
        case .sendSetup:
            sendSetup(configuration.setupScript(role), isFirst: true)
        case .askServer:
            sendSetup(Self.serverScript, isFirst: false)
        case .connected(let server):
            connectionIsSetUp(server)
        case .fail(let error, let isFirst):
            connectFailed(error, isFirst)
        }
    }

    private func startOpening(_ attempt: Int, _ host: Int) {
        let (handle, configuration, role, hosts) = (handle, configuration, role, hosts)
        let isStarted = startThread(named: "postgres-dial") {
            let connection = Connection(configuration: configuration, role: role, hosts: hosts, hostNumber: host)
            handle.post(.opened(attempt: attempt, OpenedConnection(connection)))
        }
        if !isStarted { perform(connector.openFailed(Int(MonotonicClock.nowMs()))) }
    }

    func connectionIsOpen(_ attempt: Int, _ opened: Connection?, _ nowMs: Int) {
        var error: PostgresError?
        if let opened {
            if opened.isBad { error = opened.connectError }
        } else {
            error = PostgresError(.connectionFailed, "no memory for a connection")
        }
        perform(connector.opened(attempt: attempt, error: error, nowMs), opened: opened)
    }

    func continueHandshake() {
        guard let connection else { return }
        let progress: Connector.Progress =
            switch connection.continueConnecting() {
            case PGRES_POLLING_OK: .done
            case PGRES_POLLING_FAILED: .failed(connection.connectError)
            case PGRES_POLLING_WRITING: .wantsWrite
            default: .wantsRead
            }
        perform(connector.handshaked(progress, Int(MonotonicClock.nowMs())))
    }

    private func sendSetup(_ sql: String, isFirst: Bool) {
        guard let connection else { return }
        if isFirst { connection.shortenMessages() }
        guard !isFirst || connection.setNonblocking(), connection.sendScript(sql) else {
            return perform(connector.failed(connection.errorMessage, Int(MonotonicClock.nowMs())))
        }
        setupSentUs = MonotonicClock.nowUs
        flush()
    }

    private func connectionIsSetUp(_ server: Connector.Server) {
        guard let connection else { return }
        handle.roundTrip.measured(us: MonotonicClock.nowUs - setupSentUs)
        if let timeline = server.timeline { handle.onServerChange(.timeline(timeline)) }
        guard connection.enterPipeline() else {
            return perform(connector.failed(connection.errorMessage, Int(MonotonicClock.nowMs())))
        }
        let generation = counters.generation.wrappingAdd(1, ordering: .relaxed).newValue
        machine.connected(generation: generation, commitsAlone: server.commitsAlone)
        counters.isConnected.store(true, ordering: .relaxed)
        if generation > 1 {
            counters.reconnects.wrappingAdd(1, ordering: .relaxed)
            logger.info("postgres connection is back", metadata: ["role": "\(role.rawValue)"])
        }
        handle.onConnect(.success(()))
    }

    /// Logs a warning when failures begin, not for each attempt.
    private func connectFailed(_ error: PostgresError, _ isFirst: Bool) {
        connection = nil
        mustFlush = false
        counters.connectFailures.wrappingAdd(1, ordering: .relaxed)
        logger.log(
            level: isFirst ? .warning : .debug, "postgres connection failed",
            metadata: ["role": "\(role.rawValue)", "reason": "\(error.message)"])
        machine.connectFailed(error)
        handle.onConnect(.failure(error))
    }
}

extension PostgresConfiguration {
    func pipelineLimits(_ role: ConnectionRole) -> ConnectionDriver.Machine.Limits {
        ConnectionDriver.Machine.Limits(
            inFlightMax: inFlightMax(role), preparedStatementsMax: preparedStatementsMax,
            statementTimeoutMs: statementTimeoutMs, cancelGraceMs: cancelGraceMs, stopTimeoutMs: stopTimeoutMs)
    }

    func connectLimits(hostCount: Int) -> ConnectionDriver.Connector.Limits {
        ConnectionDriver.Connector.Limits(
            connectTimeoutMs: connectTimeoutMs, backoffMinMs: reconnectBackoffMinMs,
            backoffMaxMs: reconnectBackoffMaxMs, hostCount: hostCount)
    }
}
