/// Where Redis is, who we are there, and the bounds of this client.
package struct RedisConfiguration: Sendable, Hashable {
    package enum Endpoint: Sendable, Hashable {
        case tcp(host: String, port: Int)
        case unixSocket(path: String)
    }

    package var endpoint: Endpoint
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
    /// percent-encoded. `rediss://` is refused: hiredis as Debian ships it has no TLS.
    package init(url: String) throws(BrokerError) {
        func bad(_ what: String) -> BrokerError { BrokerError(.misconfigured, "Redis address: \(what)") }
        guard let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")), url[colon...].hasPrefix("://") else {
            throw bad("expected redis://host:port/db or unix:///path")
        }
        let scheme = url[..<colon].lowercased()
        var rest = url[url.index(colon, offsetBy: 3)...]
        guard scheme != "rediss" else {
            throw bad("rediss:// (TLS) is not supported by this build; use a local proxy, a private network or unix://")
        }
        guard scheme == "redis" || scheme == "unix" else { throw bad("unknown scheme, expected redis:// or unix://") }

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
            endpoint = try RedisConfiguration.tcp(authority)
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
    }

    private static func tcp(_ authority: Substring) throws(BrokerError) -> Endpoint {
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
        let number = port.map { Int($0) ?? 0 } ?? 6379
        guard (1...65535).contains(number) else {
            throw BrokerError(.misconfigured, "Redis address: the port is not a number from 1 to 65535")
        }
        guard let name = percentDecoded(host) else {
            throw BrokerError(.misconfigured, "Redis address: a percent-encoding in the host is broken")
        }
        return .tcp(host: name.isEmpty ? "localhost" : name, port: number)
    }
}

/// Undoes `%XX` (RFC 3986, section 2.1); nil when a `%` is not followed by two hex digits or the result is not UTF-8.
func percentDecoded(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "%") {
            guard let high = rest.popFirst().flatMap(hexDigit), let low = rest.popFirst().flatMap(hexDigit) else {
                return nil
            }
            bytes.append(high << 4 | low)
        } else {
            bytes.append(byte)
        }
    }
    return bytes.contains(0) ? nil : String(validating: bytes, as: UTF8.self)
}

private func hexDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
}

extension RedisConfiguration: CustomStringConvertible {
    /// For logs: the place, never the password.
    package var description: String {
        switch endpoint {
        case .tcp(let host, let port): "redis://\(host):\(port)/\(database)"
        case .unixSocket(let path): "unix://\(path)?db=\(database)"
        }
    }
}
