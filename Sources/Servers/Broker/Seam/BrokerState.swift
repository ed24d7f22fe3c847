/// One server behind a broker, as this client sees it.
package struct BrokerServer: Sendable, Hashable {
    /// `redis://host:port`, never with a password.
    package var address: String
    package var connected: Bool
    package var id: String
    /// The error of the last attempt to connect; empty while connected.
    package var lastConnectError: String

    package init(address: String, connected: Bool, id: String = "", lastConnectError: String = "") {
        self.address = address
        self.connected = connected
        self.id = id
        self.lastConnectError = lastConnectError
    }
}

/// The memory of one server, and what happens when it is full.
package struct BrokerMemory: Sendable, Hashable {
    /// `redis://host:port`, or the server's id where the address is not known.
    package var server: String
    package var usedBytes: Int64
    /// 0: without limit.
    package var maxBytes: Int64
    /// Redis' `maxmemory-policy`: what it removes when it is full; `noeviction` removes nothing.
    package var policy: String
    /// Whether what it holds survives a restart (`appendonly`).
    package var isLogged: Bool

    package init(server: String, usedBytes: Int64, maxBytes: Int64, policy: String, isLogged: Bool) {
        self.server = server
        self.usedBytes = usedBytes
        self.maxBytes = maxBytes
        self.policy = policy
        self.isLogged = isLogged
    }

    /// Reads the reply to `INFO server memory persistence`.
    /// - Returns: the server's run id beside it; nil for a reply without these figures.
    package static func parse(info text: String) -> (runID: String, memory: BrokerMemory)? {
        var fields: [Substring: Substring] = [:]
        for line in text.split(whereSeparator: \.isNewline) {
            guard let colon = line.firstIndex(of: ":") else { continue }
            fields[line[..<colon]] = line[line.index(after: colon)...]
        }
        guard let runID = fields["run_id"], let used = fields["used_memory"].flatMap({ Int64($0) }),
            let most = fields["maxmemory"].flatMap({ Int64($0) }), let policy = fields["maxmemory_policy"]
        else { return nil }
        return (
            String(runID),
            BrokerMemory(
                server: String(runID), usedBytes: used, maxBytes: most, policy: String(policy),
                isLogged: fields["aof_enabled"] == "1")
        )
    }
}

/// Counters and gauges of a broker, for metrics and `/admin/status`.
package struct BrokerState: Sendable, Hashable {
    package var connected = false
    /// Changes when another server process answers, or the same one after having been a replica. Empty before the first
    /// connection and in a cluster, where several servers answer (`servers`).
    package var serverID = ""
    /// The number of server changes since the first connection. Each time, the former server's last acknowledged writes
    /// may be lost.
    package var serverChanges = 0
    /// The servers behind the broker.
    package var servers: [BrokerServer] = []
    /// Requests accepted and not yet answered, including those in flight.
    package var queuedRequests = 0
    package var queuedBytes = 0
    package var inFlightRequests = 0
    /// Reconnects of commands and readers together.
    package var reconnects = 0
    package var bytesWritten = 0
    /// Commands that were answered; blocking reads have connections of their own and do not count.
    package var commandsAnswered = 0
    /// Requests that the caller's thread sent itself because the connection was idle.
    package var sentByCallers = 0
    package var requestsOverloaded = 0
    package var requestsUnknown = 0
    /// The error of the last attempt to connect; empty while connected.
    package var lastConnectError = ""
    /// Whether the last attempt failed for a reason that waiting does not cure: a wrong password, another kind of
    /// server, an untrusted certificate.
    package var isMisconfigured = false

    package init() {}
}
