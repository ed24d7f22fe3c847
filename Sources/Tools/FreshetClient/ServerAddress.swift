package import NIOCore

/// `http[s]://host:port` of a server's public endpoint.
package struct ServerAddress: Sendable, Hashable, CustomStringConvertible {
    package let host: String
    package let port: Int
    /// Nil: without TLS.
    package let tls: ClientTLS?

    package init(host: String, port: Int, tls: ClientTLS? = nil) {
        self.host = host
        self.port = port
        self.tls = tls
    }

    /// Accepts `http://host[:port]`, `ws://host[:port]` and `host:port`, whose default port is 9399, and with TLS
    /// `https://host[:port]` and `wss://host[:port]`, whose default port is 443.
    /// - Throws: `ClientError.invalidAddress`.
    package init(_ text: String, trust: ClientTLS.Trust = .system) throws(ClientError) {
        var rest = Substring(text)
        var isSecure = false
        if let scheme = text.range(of: "://") {
            switch text[..<scheme.lowerBound] {
            case "http", "ws": break
            case "https", "wss": isSecure = true
            default:
                throw ClientError(
                    .invalidAddress, "\"\(text)\": an address begins with http://, https://, ws:// or wss://")
            }
            rest = text[scheme.upperBound...]
        }
        rest = rest.prefix { $0 != "/" }
        var host = rest
        var port = isSecure ? 443 : 9399
        if let colon = rest.lastIndex(of: ":"), !rest.hasSuffix("]") {
            guard let number = Int(rest[rest.index(after: colon)...]), (1...65_535).contains(number) else {
                throw ClientError(.invalidAddress, "\"\(text)\": the port must be a number from 1 to 65535")
            }
            port = number
            host = rest[..<colon]
        }
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else { throw ClientError(.invalidAddress, "\"\(text)\" has no host") }
        self.init(host: String(host), port: port, tls: isSecure ? try ClientTLS(trust) : nil)
    }

    package var description: String {
        let scheme = tls == nil ? "http" : "https"
        return host.contains(":") ? "\(scheme)://[\(host)]:\(port)" : "\(scheme)://\(host):\(port)"
    }

    /// First of all that goes into the pipeline of a channel to this server. On the channel's event loop.
    package func secure(_ channel: any Channel) throws {
        try tls?.install(on: channel, host: host)
    }

    /// Why an exchange with this server failed.
    /// - Parameter other: what it means when TLS has nothing to do with it.
    package func meaning(of error: any Error, otherwise other: @autoclosure () -> any Error) -> any Error {
        ClientTLS.meaning(of: error, at: self) ?? other()
    }
}

extension String {
    /// The first place of `needle`; Foundation's `range(of:)` without Foundation.
    fileprivate func range(of needle: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(needle) { return start..<index(start, offsetBy: needle.count) }
            start = index(after: start)
        }
        return nil
    }
}
