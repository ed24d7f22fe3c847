import LiveModel

/// A connector's name for SQL Connect clients: `projects/P/locations/L/services/S/connectors/C`.
/// Source: docs/reference/sql-connect.md §1. The project is not checked: it is not part of a service's configuration,
/// and the audience of tokens distinguishes projects.
package struct ConnectorName: Sendable, Hashable {
    package let location: String
    package let service: String
    package let connector: String

    package init(location: String, service: String, connector: String) {
        self.location = location
        self.service = service
        self.connector = connector
    }

    /// Nil for a text of another form.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 8, parts[0] == "projects", parts[2] == "locations", parts[4] == "services",
            parts[6] == "connectors", parts.allSatisfy({ !$0.isEmpty })
        else { return nil }
        self.init(location: String(parts[3]), service: String(parts[5]), connector: String(parts[7]))
    }
}

/// A call of the REST surface: the path `/v1/projects/P/locations/L/services/S/connectors/C:METHOD`.
package struct ConnectorCall: Sendable, Hashable {
    package enum Method: String, Sendable, Hashable {
        case executeQuery, executeMutation
    }

    package let name: ConnectorName
    package let method: Method

    /// Nil for other paths and other methods.
    package init?(path: String) {
        let prefix = "/v1/"
        guard path.hasPrefix(prefix), let colon = path.lastIndex(of: ":"),
            let method = Method(rawValue: String(path[path.index(after: colon)...])),
            let name = ConnectorName(path[..<colon].dropFirst(prefix.count))
        else { return nil }
        self.name = name
        self.method = method
    }
}

/// The path at which a stream over WebSocket is opened. Clients before 12.18 of the web SDK use the second form.
/// Source: docs/reference/sql-connect.md §2.
///
///     /ws/google.firebase.dataconnect.v1.ConnectorStreamService.Connect/P/locations/L/services/S
///     /ws/google.firebase.dataconnect.v1.ConnectorStreamService/Connect/locations/L
package struct ConnectorStreamPath: Sendable, Hashable {
    package let location: String
    /// Nil if only the first message names it.
    package let service: String?

    /// Nil for other paths.
    package init?(_ path: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        let rpc = "google.firebase.dataconnect.v1.ConnectorStreamService"
        guard parts.first == "ws", parts.allSatisfy({ !$0.isEmpty }) else { return nil }
        let rest = Array(parts.dropFirst())
        switch rest.count {
        case 6 where rest[0] == "\(rpc).Connect" && rest[2] == "locations" && rest[4] == "services":
            (location, service) = (String(rest[3]), String(rest[5]))
        case 4 where rest[0] == rpc && rest[1] == "Connect" && rest[2] == "locations":
            (location, service) = (String(rest[3]), nil)
        default: return nil
        }
    }
}

/// The service of this node, as clients must name it.
package struct ServiceIdentity: Sendable, Hashable {
    package let service: String
    package let location: String
    package let connectors: Set<String>

    package init(service: String, location: String, connectors: Set<String>) {
        self.service = service
        self.location = location
        self.connectors = connectors
    }

    /// Nil for a name that is served here; otherwise an error that says what a developer must change.
    package func refusal(of name: ConnectorName) -> SQLConnectFailure? {
        if let refusal = refusal(location: name.location, service: name.service) { return refusal }
        guard connectors.contains(name.connector) else {
            return SQLConnectFailure(
                .notFound,
                "service \"\(service)\" has no connector \"\(name.connector)\" (it has "
                    + connectors.sorted().map { "\"\($0)\"" }.joined(separator: ", ") + ")")
        }
        return nil
    }

    /// - Parameter service: nil if the path does not name it.
    package func refusal(location: String, service: String?) -> SQLConnectFailure? {
        if let service, service != self.service {
            return SQLConnectFailure(.notFound, "there is no service \"\(service)\" here, only \"\(self.service)\"")
        }
        guard location == self.location else {
            return SQLConnectFailure(
                .notFound, "service \"\(self.service)\" is in location \"\(self.location)\", not in \"\(location)\"")
        }
        return nil
    }
}
