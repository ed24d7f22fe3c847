package import NIOCore

/// The address of a server's public port, `http[s]://host:port`.
package struct ServerAddress: Sendable, Hashable, CustomStringConvertible {
    package let host: String
    package let port: Int
    /// The TLS configuration; nil without TLS.
    package let tls: ClientTLS?

    package init(host: String, port: Int, tls: ClientTLS? = nil) {
        self.host = host
        self.port = port
        self.tls = tls
    }

    /// Parses `http://host[:port]`, `ws://host[:port]` or `host:port`, with default port 9399, or `https://host[:port]`
    /// or `wss://host[:port]`, with default port 443.
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
                    .invalidAddress, "\"\(text)\": the scheme must be http, https, ws or wss")
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

    /// Adds TLS, if any, to the empty pipeline of a channel to this server. Call on the channel's event loop.
    package func secure(_ channel: any Channel) throws {
        try tls?.install(on: channel, host: host)
    }

    /// Translates the error of an exchange with this server.
    /// - Parameter other: the result if the error is not a TLS error.
    package func meaning(of error: any Error, otherwise other: @autoclosure () -> any Error) -> any Error {
        ClientTLS.meaning(of: error, at: self) ?? other()
    }
}

extension String {
    /// Returns the first range of `needle`, like Foundation's `range(of:)`.
    fileprivate func range(of needle: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(needle) { return start..<index(start, offsetBy: needle.count) }
            start = index(after: start)
        }
        return nil
    }
}
