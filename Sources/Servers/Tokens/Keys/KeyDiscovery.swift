import JSON

/// Finds an issuer's key set in its configuration. Source: OpenID Connect Discovery 1.0 section 4.
enum KeyDiscovery {
    static func address(of issuer: String) -> String {
        (issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer) + "/.well-known/openid-configuration"
    }

    /// Returns the address of the key set.
    /// - Throws: `FetchError` for a configuration of another issuer (section 4.3), or one that refers from `https` to
    ///   `http`.
    static func keySetAddress(in configuration: [UInt8], issuer: String) throws -> String {
        let limits = JSONLimits(depthMax: 16, bytesMax: KeySource.bytesMax)
        guard let root = try? JSONParser.parse(configuration, limits: limits) else {
            throw FetchError(code: .badConfiguration, detail: "it is not JSON")
        }
        guard root["issuer"]?.stringValue == issuer else {
            throw FetchError(code: .badConfiguration, detail: "it belongs to another issuer")
        }
        guard let address = root["jwks_uri"]?.stringValue, KeyURL.isValid(address) else {
            throw FetchError(code: .badConfiguration, detail: "it has no jwks_uri")
        }
        guard address.hasPrefix("https://") || issuer.hasPrefix("http://") else {
            throw FetchError(code: .badConfiguration, detail: "its jwks_uri is not https")
        }
        return address
    }
}

extension KeySource {
    /// The key set that the issuer's configuration names. Every fetch reads both, since issuers move their keys.
    package static func discovered(issuer: String, by downloads: KeyDownloads) -> KeySource {
        let address = KeyDiscovery.address(of: issuer)
        return KeySource(name: address) {
            let configuration = try await downloads.get(address)
            return try await downloads.get(try KeyDiscovery.keySetAddress(in: configuration, issuer: issuer))
        }
    }
}
