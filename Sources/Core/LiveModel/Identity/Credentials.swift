/// The unverified credentials of a client.
package struct Credentials: Hashable, Sendable {
    /// A token that identifies a user; an empty one counts as none.
    package var bearer: String?
    /// An API key, which identifies an app but no user: it gives access to public operations.
    package var apiKey: String?

    package static let none = Credentials()

    package init(bearer: String? = nil, apiKey: String? = nil) {
        self.bearer = bearer
        self.apiKey = apiKey
    }

    package static func bearer(_ bearer: String) -> Credentials { Credentials(bearer: bearer) }
    package static func apiKey(_ apiKey: String) -> Credentials { Credentials(apiKey: apiKey) }

    /// Returns these credentials with missing ones taken from `others`.
    package func completed(by others: Credentials) -> Credentials {
        Credentials(bearer: bearer ?? others.bearer, apiKey: apiKey ?? others.apiKey)
    }
}
