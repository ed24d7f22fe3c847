package import Streams
/// Redis' address, this client's credentials, and its limits.
package struct RedisConfiguration: Sendable, Hashable {
    package enum Endpoint: Sendable, Hashable {
        case tcp(host: String, port: Int)
        case unixSocket(path: String)
    }

    /// The way to find the server.
    package enum Topology: Sendable, Hashable {
        /// The server is at `endpoint`.
        case single
        /// The sentinels give the master of this group; `endpoint` is not used.
        case sentinel(addresses: [Endpoint], master: String, user: String?, password: String?)
        /// The key determines the node of a Redis Cluster, found through these addresses; `endpoint` is not used.
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

    /// Limits one attempt to connect. Resolving a slow name can take longer.
    package var connectTimeoutMs = 1000
    /// Limits a call from acceptance to answer. A server that is silent for longer counts as dead.
    package var commandTimeoutMs = 2000
    /// Back-off between attempts to connect: doubles between these, each pause shortened at random by up to half.
    package var reconnectMinMs = 20
    package var reconnectMaxMs = 1000
    /// How long one `XREAD` blocks on the server.
    package var readBlockMs = 5000
    /// Requests waiting or in flight; further ones fail with `.overloaded`.
    package var queueRequestsMax = 65_536
    /// Encoded bytes waiting or in flight.
    package var queueBytesMax = 64 << 20
    /// Requests and bytes of one batch, which is written as a whole before its replies are read.
    package var batchRequestsMax = 1024
    package var batchBytesMax = 1 << 20

    package init(endpoint: Endpoint, user: String? = nil, password: String? = nil, database: Int = 0) {
        self.endpoint = endpoint
        self.user = user
        self.password = password
        self.database = database
    }

    /// Parses `redis://[user[:password]@]host[:port][/db]` or `unix://[user[:password]@]/path[?db=N]`; parts may be
    /// percent-encoded. `rediss://` is `redis://` over TLS.
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
            else { throw bad("invalid percent-encoding in user or password") }
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
            guard pair.hasPrefix("db=") else { throw bad("unknown query parameter; only db= is supported") }
            database = pair.dropFirst(3)
        }
        guard database.isEmpty || database.utf8.allSatisfy({ (48...57).contains($0) }) else {
            throw bad("the database must be a number")
        }
        guard let number = database.isEmpty ? 0 : Int(database) else { throw bad("the database number is too large") }
        self.init(endpoint: endpoint, user: user, password: password, database: number)
        if scheme == "rediss" { tls = RedisTLS() }
    }

    /// Parses `host[:port]`; an IPv6 host is in brackets if a port follows.
    package static func address(
        _ authority: some StringProtocol, defaultPort: Int = 6379
    ) throws(BrokerError) -> Endpoint {
        let authority = Substring(authority)
        var host = authority
        var port: Substring?
        if host.hasPrefix("[") {
            guard let end = host.firstIndex(of: "]") else {
                throw BrokerError(.misconfigured, "Redis address: '[' is not closed")
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
            throw BrokerError(.misconfigured, "Redis address: the port must be a number from 1 to 65535")
        }
        guard let name = percentDecoded(host) else {
            throw BrokerError(.misconfigured, "Redis address: invalid percent-encoding in the host")
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
    /// The address for logs, never the password.
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
