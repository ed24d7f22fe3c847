package import JSON

/// Where clients put their token.
package enum BearerToken {
    /// From an `Authorization` header's value; nil for other schemes.
    package static func inHeader(_ value: String) -> String? {
        let parts = value.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return String(parts[1])
    }

    /// From the payload of `connection_init`: `Authorization` (any case) with or without `Bearer`, `authToken` or
    /// `token`, at the top or below `headers`.
    package static func inPayload(_ payload: JSONObject) -> String? {
        for entry in payload.entries {
            guard let value = entry.value.stringValue, !value.isEmpty else { continue }
            switch entry.key.lowercased() {
            case "authorization", "authtoken", "token", "x-firebase-auth-token": return inHeader(value) ?? value
            default: break
            }
        }
        return payload["headers"]?.objectValue.flatMap { headers in
            headers.contains("headers") ? nil : inPayload(headers)
        }
    }
}
