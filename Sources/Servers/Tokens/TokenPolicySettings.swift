package import Settings

extension TokenPolicy {
    /// Creates the policy of the settings section `auth`. Mode `firebase` derives audience, issuer and address from the
    /// project unless they are given; a key file takes precedence over an address.
    package init(_ auth: SectionSettings<AuthSection>, _ downloads: KeyDownloads) {
        let source = auth.jwksFile.map { KeySource.file($0) } ?? auth.jwksUrl.map { KeySource.url($0, by: downloads) }
        switch auth.mode {
        case .none: self.init(trust: .nothing)
        case .hs256: self.init(trust: .secret(Array((auth.hs256Secret ?? "").utf8)))
        case .jwks: self.init(trust: source.map { .keySet($0) } ?? .nothing)
        case .firebase:
            self = .firebase(
                projectId: auth.projectId ?? "", source: source ?? .url(TokenPolicy.firebaseKeysURL, by: downloads))
        }
        audiences = auth.audience.map { [$0] } ?? audiences
        issuer = auth.issuer ?? issuer
        expiryRequired = expiryRequired || auth.expiryRequired
        leewayMs = auth.leewayMs
        refreshMs = auth.jwksRefreshMs
        unsignedAllowed = auth.unsignedAllowed
    }
}

extension TokenPolicy {
    /// Creates the policy of `admin.auth.mode: oidc`. Leeway and refresh interval are those of users of the service.
    ///
    /// Source: OpenID Connect Core 1.0 §3.1.3.7, for tokens that arrive without a login of the server's own.
    package init(
        _ admin: SectionSettings<AdminSection>, _ auth: SectionSettings<AuthSection>, _ downloads: KeyDownloads
    ) {
        let issuer = admin.authIssuer ?? ""
        let source =
            admin.authJwksFile.map { KeySource.file($0) } ?? admin.authJwksUrl.map { .url($0, by: downloads) }
            ?? .discovered(issuer: issuer, by: downloads)
        self.init(trust: .keySet(source))
        self.issuer = issuer
        audiences = [admin.authAudience ?? ""]
        uidClaim = "sub"
        expiryRequired = true
        leewayMs = auth.leewayMs
        refreshMs = auth.jwksRefreshMs
    }
}
