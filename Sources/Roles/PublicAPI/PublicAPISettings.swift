package import Gateway
package import Sessions

/// What the public port offers and its bounds.
package struct PublicAPISettings: Sendable {
    /// Whether operations are run for requests.
    package var isAPI = true
    /// Whether live queries are served.
    package var isGateway = true
    /// `*` or exact origins.
    package var corsOrigins: [String] = ["*"]
    package var longPollMaxMs: Int64 = 60_000
    package var sessionsMax = 20_000
    package var session = SessionLimits()
    /// Whose `X-Forwarded-For` is believed.
    package var trustedProxies = TrustedProxies()
    /// Under `freshet dev`, what SQL Connect's tools ask an emulator for; nil: 404.
    package var emulator: EmulatorInfo?
    /// The page at `/`; nil: 404.
    package var page: [UInt8]?

    package init() {}
}

/// What `GET /emulator/info` tells. Source: docs/reference/sql-connect.md §7.
package struct EmulatorInfo: Sendable {
    package var version: String
    /// How to reach the database.
    package var connectionString: String

    package init(version: String, connectionString: String) {
        self.version = version
        self.connectionString = connectionString
    }
}
