import FoundationEssentials

/// Relations between settings that no single range can express.
extension Settings {
    /// One line for each that does not hold.
    package func contradictions() -> [SettingsError.Problem] {
        (clusterContradictions() + portContradictions() + authContradictions() + flowContradictions()
            + redisContradictions() + embeddingContradictions())
            .map { SettingsError.Problem(place: "", message: $0) }
    }

    private func clusterContradictions() -> [String] {
        var found: [String] = []
        let isName = cluster.namespace.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        if !isName || !(1...32).contains(cluster.namespace.utf8.count) {
            found.append("cluster.namespace takes 1 to 32 letters, digits, - and _")
        }
        if cluster.roles.isEmpty { found.append("cluster.roles is empty: a node needs at least one role") }
        // One lost renewal must not cost a lease or a node its place.
        if cluster.nodeTtlMs < 2 * cluster.heartbeatMs {
            found.append("cluster.nodeTtlMs must be at least twice cluster.heartbeatMs")
        }
        if cluster.leaseTtlMs < 2 * cluster.leaseRenewMs {
            found.append("cluster.leaseTtlMs must be at least twice cluster.leaseRenewMs")
        }
        return found
    }

    private func portContradictions() -> [String] {
        var found: [String] = []
        if (http.tlsCertificateFile == nil) != (http.tlsKeyFile == nil) {
            found.append("http.tls.certificateFile and http.tls.keyFile need each other")
        }
        if http.port != 0, http.port == admin.port { found.append("http.port and admin.port are the same") }
        if cluster.roles.contains(.admin), admin.token == nil, !Self.isLoopback(admin.host) {
            found.append("admin.token must be set when admin.host is not a loopback address")
        }
        return found
    }

    private static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || host == "::1" || host.hasPrefix("127.")
    }

    private func authContradictions() -> [String] {
        var found: [String] = []
        switch auth.mode {
        case .none: break
        case .firebase:
            if auth.projectId == nil { found.append("auth.mode firebase needs auth.projectId") }
        case .jwks:
            if auth.jwksFile == nil, auth.jwksUrl == nil {
                found.append("auth.mode jwks needs auth.jwksFile or auth.jwksUrl")
            }
        case .hs256:
            // RFC 7518 §3.2: a key at least as long as the hash.
            if (auth.hs256Secret ?? "").utf8.count < 32 {
                found.append("auth.mode hs256 needs auth.hs256Secret of 32 bytes or more")
            }
        }
        if auth.apiKeyRequired, auth.apiKeysFile == nil {
            found.append("auth.apiKeyRequired needs auth.apiKeysFile")
        }
        // Whoever can change the answer on its way could sign any token.
        if let url = auth.jwksUrl, profile != .dev, !url.hasPrefix("https://") {
            found.append("auth.jwksUrl must begin with https://")
        }
        return found
    }

    private func redisContradictions() -> [String] {
        var found: [String] = []
        let isSentinel = !redis.sentinelAddresses.isEmpty
        let isCluster = !redis.clusterAddresses.isEmpty
        let isTLS = redis.url?.lowercased().hasPrefix("rediss:") ?? false
        if isSentinel, isCluster { found.append("redis.sentinel.addresses and redis.cluster.addresses are both set") }
        if isSentinel != (redis.sentinelMaster != nil) {
            found.append("redis.sentinel.addresses and redis.sentinel.master need each other")
        }
        if isSentinel || isCluster, redis.url?.lowercased().hasPrefix("unix:") ?? false {
            found.append("redis.url must begin with redis:// or rediss:// beside sentinel or cluster addresses")
        }
        if (redis.tlsCertificateFile == nil) != (redis.tlsKeyFile == nil) {
            found.append("redis.tls.certificateFile and redis.tls.keyFile need each other")
        }
        let tlsFiles = [redis.tlsCaFile, redis.tlsCertificateFile, redis.tlsServerName]
        if !isTLS, tlsFiles.contains(where: { $0 != nil }) {
            found.append("redis.tls is set, but redis.url does not begin with rediss://")
        }
        return found
    }

    private func embeddingContradictions() -> [String] {
        var found: [String] = []
        if let url = embeddings.url {
            if !url.hasPrefix("http://"), !url.hasPrefix("https://") {
                found.append("embeddings.url must begin with http:// or https://")
            } else if !Self.takesPaths(url) {
                found.append("embeddings.url must be a URL without user, query and fragment: paths are added to it")
            }
            // Else a server that hangs takes the room of every other request.
            if embeddings.waitersMax >= api.requestsInFlightMax {
                found.append("embeddings.waitersMax must be less than api.requestsInFlightMax")
            }
        }
        // RFC 9110 §5.5: what a header cannot carry, a line break above all, would fail each request.
        if let token = embeddings.token, !token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) {
            found.append("embeddings.token takes visible ASCII characters, no spaces and line breaks")
        }
        if embeddings.serverModels == nil {
            found.append(
                "embeddings.models takes entries such as textembedding-gecko@003=nomic-embed-text, each model once")
        }
        return found
    }

    private static func takesPaths(_ url: String) -> Bool {
        guard let url = URL(string: url, encodingInvalidCharacters: false), url.host()?.isEmpty == false else {
            return false
        }
        return url.user() == nil && url.query() == nil && url.fragment() == nil
    }

    private func flowContradictions() -> [String] {
        var found: [String] = []
        if postgres.reconnectMaxMs < postgres.reconnectMinMs {
            found.append("postgres.reconnectMaxMs is less than postgres.reconnectMinMs")
        }
        if http.bodiesBytesMax < http.bodyBytesMax {
            found.append("http.bodiesBytesMax is less than one body may have (http.bodyBytesMax)")
        }
        if limits.variablesBytesMax > http.bodyBytesMax {
            found.append("limits.variablesBytesMax is more than http.bodyBytesMax lets in")
        }
        return found
    }
}
