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
