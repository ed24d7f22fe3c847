package import Streams
/// Where Redis is, who we are there, and the bounds of this client.
package struct RedisConfiguration: Sendable, Hashable {
    package enum Endpoint: Sendable, Hashable {
        case tcp(host: String, port: Int)
        case unixSocket(path: String)
    }

    /// How the server to talk to is found.
    package enum Topology: Sendable, Hashable {
        /// It is `endpoint`.
        case single
        /// It is whatever the sentinels call the master of that name; `endpoint` is not used.
        case sentinel(addresses: [Endpoint], master: String, user: String?, password: String?)
        /// It depends on the key: Redis Cluster, first asked at these addresses; `endpoint` is not used.
        case cluster(addresses: [Endpoint])
    }

    package var endpoint: Endpoint
    package var topology = Topology.single
    /// Nil: no TLS. Applies to every server, sentinels included.
    package var tls: RedisTLS?
    /// ACL user; nil is `default`.
    package var user: String?
    package var password: String?
    package var database = 0

    /// For one attempt to connect. A name that resolves slowly can take longer.
    package var connectTimeoutMs = 1000
    /// From accepting a call to its answer; also how long a silent server is believed to be alive.
    package var commandTimeoutMs = 5000
    /// Waits between attempts to connect, doubling between these, each shortened at random by up to half.
    package var reconnectMinMs = 20
    package var reconnectMaxMs = 2000
    /// How long one `XREAD` blocks on the server.
    package var readBlockMs = 5000
    /// Requests waiting or in flight; one more fails with `.overloaded`.
    package var queueRequestsMax = 16_384
    /// Encoded bytes waiting or in flight.
    package var queueBytesMax = 64 << 20
    /// Requests and bytes written in one go before their replies are read.
    package var flightRequestsMax = 1024
    package var flightBytesMax = 1 << 20

    package init(endpoint: Endpoint, user: String? = nil, password: String? = nil, database: Int = 0) {
        self.endpoint = endpoint
        self.user = user
        self.password = password
        self.database = database
    }

    /// Reads `redis://[user[:password]@]host[:port][/db]` or `unix://[user[:password]@]/path[?db=N]`; parts may be
    /// percent-encoded. `rediss://` is the same as `redis://` over TLS.
    package init(url: String) throws(BrokerError) {
        func bad(_ what: String) -> BrokerError { BrokerError(.misconfigured, "Redis address: \(what)") }
        guard let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")), url[colon...].hasPrefix("://") else {
            throw bad("expected redis://host:port/db or unix:///path")
        }
        let scheme = url[..<colon].lowercased()
        var rest = url[url.index(colon, offsetBy: 3)...]
        guard ["redis", "rediss", "unix"].contains(scheme) else {
            throw bad("unknown scheme, expected redis://, rediss:// or unix://")
        }

        var query: Substring = ""
        if let mark = rest.firstIndex(of: "?") {
            query = rest[rest.index(after: mark)...]
            rest = rest[..<mark]
        }
        let authorityEnd = rest.firstIndex(of: "/") ?? rest.endIndex
        var authority = rest[..<authorityEnd]
        let path = rest[authorityEnd...]

        var user: String?
        var password: String?
        if let at = authority.lastIndex(of: "@") {
            let login = authority[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = percentDecoded(login[0]), let secret = percentDecoded(login.count > 1 ? login[1] : "")
            else { throw bad("a percent-encoding in user or password is broken") }
            user = name.isEmpty ? nil : name
            password = login.count > 1 ? secret : nil
            authority = authority[authority.index(after: at)...]
        }
        guard user == nil || password != nil else { throw bad("a user needs a password") }

        var database: Substring = ""
        let endpoint: Endpoint
        if scheme == "unix" {
            guard authority.isEmpty, let file = percentDecoded(path), file.utf8.count > 1 else {
                throw bad("unix:// needs an absolute path")
            }
            endpoint = .unixSocket(path: file)
        } else {
            endpoint = try RedisConfiguration.address(authority)
            database = path.dropFirst()
        }
        for pair in query.split(separator: "&") {
            guard pair.hasPrefix("db=") else { throw bad("unknown query parameter, only db= is known") }
            database = pair.dropFirst(3)
        }
        guard database.isEmpty || database.utf8.allSatisfy({ (48...57).contains($0) }) else {
            throw bad("the database is a number")
        }
        guard let number = database.isEmpty ? 0 : Int(database) else { throw bad("the database number is too large") }
        self.init(endpoint: endpoint, user: user, password: password, database: number)
        if scheme == "rediss" { tls = RedisTLS() }
    }

    /// Reads `host[:port]`; an IPv6 host stands in brackets when a port follows.
    package static func address(
        _ authority: some StringProtocol, defaultPort: Int = 6379
    ) throws(BrokerError) -> Endpoint {
        let authority = Substring(authority)
        var host = authority
        var port: Substring?
        if host.hasPrefix("[") {
            guard let end = host.firstIndex(of: "]") else {
                throw BrokerError(.misconfigured, "Redis address: '[' open")
            }
            let after = host[host.index(after: end)...]
            if after.hasPrefix(":") { port = after.dropFirst() } else if !after.isEmpty { port = "?" }
            host = host[host.index(after: host.startIndex)..<end]
        } else if let colon = host.lastIndex(of: ":") {
            port = host[host.index(after: colon)...]
            host = host[..<colon]
        }
        let number = port.map { Int($0) ?? 0 } ?? defaultPort
        guard (1...65535).contains(number) else {
            throw BrokerError(.misconfigured, "Redis address: the port is not a number from 1 to 65535")
        }
        guard let name = percentDecoded(host) else {
            throw BrokerError(.misconfigured, "Redis address: a percent-encoding in the host is broken")
        }
        return .tcp(host: name.isEmpty ? "localhost" : name, port: number)
    }
}

extension RedisConfiguration.Endpoint: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unixSocket(let path): "unix://\(path)"
        }
    }
}

extension RedisConfiguration: CustomStringConvertible {
    /// For logs: the place, never the password.
    package var description: String {
        let scheme = tls == nil ? "redis" : "rediss"
        func list(_ endpoints: [Endpoint]) -> String { endpoints.map(\.description).joined(separator: ",") }
        switch topology {
        case .single:
            switch endpoint {
            case .tcp: return "\(scheme)://\(endpoint)/\(database)"
            case .unixSocket: return "\(endpoint)?db=\(database)"
            }
        case .sentinel(let addresses, let master, _, _):
            return "\(scheme)+sentinel://\(list(addresses))/\(master)/\(database)"
        case .cluster(let addresses): return "\(scheme)+cluster://\(list(addresses))"
        }
    }
}
