package import JSON
package import LiveModel

/// Reads the token from the places where clients put it.
package enum BearerToken {
    /// Reads an `Authorization` header's value; nil for other schemes. Firebase's SDKs for Android and iOS name the
    /// scheme `Firebase`.
    package static func inHeader(_ value: String) -> String? {
        let parts = value.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, ["bearer", "firebase"].contains(parts[0].lowercased()) else { return nil }
        return String(parts[1])
    }
}

extension Credentials {
    /// Reads the payload of `connection_init`, at the top or below `headers`, names in any case: `Authorization` with
    /// or without `Bearer`, `authToken`, `token` or `x-firebase-auth-token`; `x-api-key`, `x-goog-api-key` or
    /// `apiKey`.
    package init(payload: JSONObject?) {
        self.init()
        guard let payload else { return }
        read(payload)
        if let headers = payload["headers"]?.objectValue { read(headers) }
    }

    private mutating func read(_ object: JSONObject) {
        for entry in object.entries {
            guard let value = entry.value.stringValue, !value.isEmpty else { continue }
            let name = entry.key.lowercased()
            switch name {
            case "authorization", "authtoken", "token", "x-firebase-auth-token":
                bearer = bearer ?? BearerToken.inHeader(value) ?? value
            default: if name == "apikey" || Self.apiKeyHeaders.contains(name) { apiKey = apiKey ?? value }
            }
        }
    }

    /// Names of headers and metadata that carry an API key: AppSync's, and Google's.
    package static let apiKeyHeaders = ["x-api-key", "x-goog-api-key"]

    /// Reads headers or metadata by name, and a query item if there is one. The bare token of Firebase's SDKs takes
    /// precedence over `Authorization`.
    package init(header: (String) -> String?, query: (String) -> String? = { _ in nil }) {
        let bearer = header("x-firebase-auth-token") ?? header("authorization").flatMap(BearerToken.inHeader)
        let key = Self.apiKeyHeaders.lazy.compactMap(header).first ?? query("key")
        self.init(bearer: bearer, apiKey: key.flatMap { $0.isEmpty ? nil : $0 })
    }
}
