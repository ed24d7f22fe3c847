import FoundationEssentials
import LiveModel
import Sessions
import Streams

/// Contradictions between settings, which no single range can express.
extension Settings {
    /// One line per contradiction.
    package func contradictions() -> [SettingsError.Problem] {
        (clusterContradictions() + portContradictions() + adminContradictions() + authContradictions()
            + flowContradictions() + redisContradictions() + embeddingContradictions() + traceContradictions())
            .map { SettingsError.Problem(origin: "", message: $0) }
    }

    private func clusterContradictions() -> [String] {
        var found: [String] = []
        if !Keys.isNamespace(self.cluster.namespace) {
            found.append("cluster.namespace must be \(Keys.namespaceRule)")
        }
        if self.cluster.roles.isEmpty { found.append("cluster.roles is empty; a node needs at least one role") }
        // A single lost renewal must not end a lease or a node's membership.
        if self.cluster.nodeTtlMs < 2 * self.cluster.heartbeatMs {
            found.append("cluster.nodeTtlMs must be at least twice cluster.heartbeatMs")
        }
        if self.cluster.leaseTtlMs < 2 * self.cluster.leaseRenewMs {
            found.append("cluster.leaseTtlMs must be at least twice cluster.leaseRenewMs")
        }
        return found
    }

    private func portContradictions() -> [String] {
        var found: [String] = []
        if (self.http.tlsCertificateFile == nil) != (self.http.tlsKeyFile == nil) {
            found.append("http.tls.certificateFile and http.tls.keyFile must be set together")
        }
        if self.http.port != 0, self.http.port == self.admin.port {
            found.append("http.port and admin.port are the same")
        }
        for (name, addresses) in [
            ("http.trustedProxies", self.http.trustedProxies),
            ("http.uncountedAddresses", self.http.uncountedAddresses),
        ] where AddressSet(addresses) == nil {
            found.append("\(name) takes addresses and networks such as 10.0.0.0/8")
        }
        if self.cluster.roles.contains(.admin), self.admin.token == nil, !Self.isLoopback(self.admin.host) {
            found.append("admin.token must be set when admin.host is not a loopback address")
        }
        return found
    }

    private func adminContradictions() -> [String] {
        let admin = self.admin
        guard admin.authMode == .oidc else {
            let unused = [
                ("admin.auth.issuer", admin.authIssuer), ("admin.auth.audience", admin.authAudience),
                ("admin.auth.jwksFile", admin.authJwksFile), ("admin.auth.jwksUrl", admin.authJwksUrl),
                ("admin.rule", admin.rule), ("admin.writeRule", admin.writeRule),
            ]
            // Who sets a rule believes that it is in force.
            return unused.filter { $0.1 != nil }.map { "\($0.0) needs admin.auth.mode oidc" }
        }
        var found: [String] = []
        // An audience too: else tokens that the provider issues to its other apps would be accepted.
        for (name, value) in [
            ("admin.auth.issuer", admin.authIssuer), ("admin.auth.audience", admin.authAudience),
            ("admin.rule", admin.rule), ("admin.token, by which nodes ask each other", admin.token),
        ] where value == nil {
            found.append("admin.auth.mode oidc needs \(name)")
        }
        let fetched = admin.authJwksFile == nil ? admin.authJwksUrl ?? admin.authIssuer : nil
        if let fetched, profile != .dev, !fetched.hasPrefix("https://"), !Self.isOnLoopback(fetched) {
            let name = admin.authJwksUrl == nil ? "admin.auth.issuer" : "admin.auth.jwksUrl"
            found.append("\(name) must begin with https://")
        }
        return found
    }

    private static func isOnLoopback(_ url: String) -> Bool {
        URL(string: url, encodingInvalidCharacters: false)?.host().map(isLoopback) ?? false
    }

    private static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || host == "::1" || host.hasPrefix("127.")
    }

    private func authContradictions() -> [String] {
        var found: [String] = []
        switch self.auth.mode {
        case .none: break
        case .firebase:
            if self.auth.projectId == nil { found.append("auth.mode firebase needs auth.projectId") }
        case .jwks:
            if self.auth.jwksFile == nil, self.auth.jwksUrl == nil {
                found.append("auth.mode jwks needs auth.jwksFile or auth.jwksUrl")
            }
        case .hs256:
            // RFC 7518 §3.2: a key at least as long as the hash.
            if (self.auth.hs256Secret ?? "").utf8.count < 32 {
                found.append("auth.mode hs256 needs auth.hs256Secret of 32 bytes or more")
            }
        }
        if self.auth.apiKeyRequired, self.auth.apiKeysFile == nil {
            found.append("auth.apiKeyRequired needs auth.apiKeysFile")
        }
        // Over plain HTTP an attacker on the path could replace the keys and sign any token.
        if let url = self.auth.jwksUrl, profile != .dev, !url.hasPrefix("https://") {
            found.append("auth.jwksUrl must begin with https://")
        }
        return found
    }

    private func redisContradictions() -> [String] {
        var found: [String] = []
        let isSentinel = !self.redis.sentinelAddresses.isEmpty
        let isCluster = !self.redis.clusterAddresses.isEmpty
        let isTLS = self.redis.url?.lowercased().hasPrefix("rediss:") ?? false
        if isSentinel, isCluster {
            found.append("redis.sentinel.addresses and redis.cluster.addresses exclude each other")
        }
        if isSentinel != (self.redis.sentinelMaster != nil) {
            found.append("redis.sentinel.addresses and redis.sentinel.master must be set together")
        }
        if isSentinel || isCluster, self.redis.url?.lowercased().hasPrefix("unix:") ?? false {
            found.append("redis.url must begin with redis:// or rediss:// when sentinel or cluster addresses are set")
        }
        if (self.redis.tlsCertificateFile == nil) != (self.redis.tlsKeyFile == nil) {
            found.append("redis.tls.certificateFile and redis.tls.keyFile must be set together")
        }
        let tlsFiles = [self.redis.tlsCaFile, self.redis.tlsCertificateFile, self.redis.tlsServerName]
        if !isTLS, tlsFiles.contains(where: { $0 != nil }) {
            found.append("redis.tls is set, but redis.url does not begin with rediss://")
        }
        return found
    }

    private func embeddingContradictions() -> [String] {
        var found: [String] = []
        if let url = self.embeddings.url {
            if !url.hasPrefix("http://"), !url.hasPrefix("https://") {
                found.append("embeddings.url must begin with http:// or https://")
            } else if !Self.takesPaths(url) {
                found.append(
                    "embeddings.url must be a URL without user, query or fragment, because paths are appended to it")
            }
            // Otherwise a hanging server could occupy every request slot.
            if self.embeddings.waitersMax >= self.api.requestsInFlightMax {
                found.append("embeddings.waitersMax must be less than api.requestsInFlightMax")
            }
        }
        // RFC 9110 §5.5: characters that a header cannot carry, such as line breaks, would fail every request.
        if let token = self.embeddings.token, !token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) {
            found.append("embeddings.token must be visible ASCII characters, without spaces and line breaks")
        }
        if self.embeddings.serverModels == nil {
            found.append(
                "embeddings.models must list entries such as textembedding-gecko@003=nomic-embed-text, each model once")
        }
        return found
    }

    private static func takesPaths(_ url: String) -> Bool {
        guard let url = URL(string: url, encodingInvalidCharacters: false), url.host()?.isEmpty == false else {
            return false
        }
        return url.user() == nil && url.query() == nil && url.fragment() == nil
    }

    private func traceContradictions() -> [String] {
        var found: [String] = []
        if let url = self.trace.otlpUrl, !url.hasPrefix("http://"), !url.hasPrefix("https://") {
            found.append("trace.otlp.url must begin with http:// or https://")
        }
        for header in self.trace.otlpHeaders {
            let name = header.prefix { $0 != "=" }
            // RFC 9110 §5.1 and §5.5: what else would fail every request.
            let isName = !name.isEmpty && name.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ":") }
            guard isName, header.contains("="), header.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
                found.append("trace.otlp.headers must have entries NAME=VALUE in printable ASCII")
                break
            }
        }
        return found
    }

    private func flowContradictions() -> [String] {
        var found: [String] = []
        if self.postgres.reconnectMaxMs < self.postgres.reconnectMinMs {
            found.append("postgres.reconnectMaxMs is less than postgres.reconnectMinMs")
        }
        // An address holds at most half of the three quarters that large bodies have.
        if self.http.bodiesBytesMax / 3 < self.http.bodyBytesMax {
            found.append("http.bodiesBytesMax must be at least three times http.bodyBytesMax")
        }
        if self.limits.variablesBytesMax > self.http.bodyBytesMax {
            found.append("limits.variablesBytesMax is greater than http.bodyBytesMax allows")
        }
        return found
    }
}
