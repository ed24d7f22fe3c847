/// The address of a server: `http[s]://host[:port]`; `ws` and `wss` mean the same. Without TLS the default port is
/// 9399.
public struct ServerEndpoint: Sendable, Hashable, CustomStringConvertible {
    public let host: String
    public let port: Int
    public let isSecure: Bool

    public init(host: String, port: Int, isSecure: Bool = false) {
        self.host = host
        self.port = port
        self.isSecure = isSecure
    }

    /// Nil if the text is no such address, or has a path.
    public init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].hasPrefix("//") else { return nil }
        let isSecure: Bool
        switch parts[0].lowercased() {
        case "http", "ws": isSecure = false
        case "https", "wss": isSecure = true
        default: return nil
        }
        var rest = parts[1].dropFirst(2)
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        guard !rest.contains("/"), !rest.contains("@"), !rest.contains("?"), !rest.contains("#") else { return nil }
        var host = rest
        var port = isSecure ? 443 : 9_399
        if let colon = rest.lastIndex(of: ":"), !rest.hasSuffix("]") {
            guard let number = Int(rest[rest.index(after: colon)...]), (1...65_535).contains(number) else { return nil }
            port = number
            host = rest[..<colon]
        }
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else { return nil }
        self.init(host: String(host), port: port, isSecure: isSecure)
    }

    /// The host as it stands in addresses and in the header `Host`.
    public var authority: String { (host.contains(":") ? "[\(host)]" : host) + ":\(port)" }

    public var description: String { "\(isSecure ? "https" : "http")://\(authority)" }
}
