/// `http://host:port` of a server's public endpoint.
package struct ServerAddress: Sendable, Hashable, CustomStringConvertible {
    package let host: String
    package let port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Accepts `http://host[:port]`, `ws://host[:port]` and `host:port`; the default port is 9399.
    /// - Throws: `ClientError.invalidAddress`. TLS is for a proxy in front; `https` is refused.
    package init(_ text: String) throws(ClientError) {
        var rest = Substring(text)
        if let scheme = text.range(of: "://") {
            guard ["http", "ws"].contains(text[..<scheme.lowerBound]) else {
                throw ClientError(.invalidAddress, "\"\(text)\": only http:// and ws:// addresses can be used")
            }
            rest = text[scheme.upperBound...]
        }
        rest = rest.prefix { $0 != "/" }
        var host = rest
        var port = 9399
        if let colon = rest.lastIndex(of: ":"), !rest.hasSuffix("]") {
            guard let number = Int(rest[rest.index(after: colon)...]), (1...65_535).contains(number) else {
                throw ClientError(.invalidAddress, "\"\(text)\": the port must be a number from 1 to 65535")
            }
            port = number
            host = rest[..<colon]
        }
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else { throw ClientError(.invalidAddress, "\"\(text)\" has no host") }
        self.init(host: String(host), port: port)
    }

    package var description: String { host.contains(":") ? "http://[\(host)]:\(port)" : "http://\(host):\(port)" }
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
