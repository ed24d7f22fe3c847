/// What a client shows to be let in, not yet judged.
package struct Credentials: Hashable, Sendable {
    /// A token that names a user; empty counts as none.
    package var bearer: String?
    /// Names an app and no user: lets in to public operations.
    package var apiKey: String?

    package static let none = Credentials()

    package init(bearer: String? = nil, apiKey: String? = nil) {
        self.bearer = bearer
        self.apiKey = apiKey
    }

    package static func bearer(_ bearer: String) -> Credentials { Credentials(bearer: bearer) }
    package static func apiKey(_ apiKey: String) -> Credentials { Credentials(apiKey: apiKey) }

    /// These, and from `others` what is missing.
    package func completed(by others: Credentials) -> Credentials {
        Credentials(bearer: bearer ?? others.bearer, apiKey: apiKey ?? others.apiKey)
    }
}
