package import Sessions

/// The features and limits of the public port.
package struct PublicAPISettings: Sendable {
    /// Whether requests may run operations.
    package var isAPI = true
    /// Whether live queries are served.
    package var isGateway = true
    /// Allowed origins: `*` or exact ones.
    package var corsOrigins: [String] = ["*"]
    package let longPollMaxMs: Int64
    package let longPollKeptMs: Int64
    package let sessionsMax: Int
    package var session = SessionLimits()
    /// The time after which the credentials of a repeated request are verified again, though they have not expired: the
    /// key that signed them may be gone.
    package let verifiedForMs: Int64
    /// The subjects of limits per address.
    package var addresses = ClientAddresses()
    /// The emulator description for SQL Connect's tools, under `freshet dev`; nil answers 404.
    package var emulator: EmulatorInfo?

    package init(longPollMaxMs: Int64, longPollKeptMs: Int64, sessionsMax: Int, verifiedForMs: Int64) {
        self.longPollMaxMs = longPollMaxMs
        self.longPollKeptMs = longPollKeptMs
        self.sessionsMax = sessionsMax
        self.verifiedForMs = verifiedForMs
    }
}

/// The content of `GET /emulator/info`. Source: docs/reference/sql-connect.md §7.
package struct EmulatorInfo: Sendable {
    package var version: String
    /// The connection string of the database.
    package var connectionString: String

    package init(version: String, connectionString: String) {
        self.version = version
        self.connectionString = connectionString
    }
}
