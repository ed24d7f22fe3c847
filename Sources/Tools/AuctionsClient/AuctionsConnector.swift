public import FreshetClient

/// The connector `auctions` of the service `auctions` (config/auctions), as far as the sample app and the tests use it.
public struct AuctionsConnector: FreshetConnector {
    public static let identity = ConnectorIdentity(
        service: "auctions", location: "us-central1", connector: "auctions", revision: "1")
    public let link: ConnectorLink

    public init(link: ConnectorLink) { self.link = link }

    public init(
        at address: String, cache: CacheSettings = .persistent(maxAge: .seconds(5)), auth: AuthSource = .none,
        options: ConnectorOptions = ConnectorOptions()
    ) {
        link = ConnectorLink(Self.identity, at: address, cache: cache, auth: auth, options: options)
    }
}
