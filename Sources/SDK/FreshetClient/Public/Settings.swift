public import FreshetTransport

/// The cache of a connector: its place, its bound, and how old a cached result may be. Source: SDK specification §1,
/// rows 12 to 14.
public struct CacheSettings: Sendable, Hashable {
    public enum Storage: Sendable, Hashable {
        /// A file, which survives restarts. Nil: in the app's folder for support files.
        case persistent(directory: String?)
        case memory
        /// Only what is followed at the moment.
        case off
    }

    public var storage: Storage
    /// A cached result that is older is not used by `.preferCache`; zero: none is.
    public var maxAge: Duration
    /// The bound on cached results: of the file, or else of memory. Those least recently used go first.
    public var maxBytes: Int
    /// The bound on results that a persistent cache keeps in memory without being followed.
    public var memoryBytesMax = 16 << 20

    public init(storage: Storage, maxAge: Duration, maxBytes: Int) {
        self.storage = storage
        self.maxAge = maxAge
        self.maxBytes = maxBytes
    }

    public static func persistent(
        maxAge: Duration = .zero, maxBytes: Int = 100 << 20, directory: String? = nil
    ) -> CacheSettings {
        CacheSettings(storage: .persistent(directory: directory), maxAge: maxAge, maxBytes: maxBytes)
    }

    public static func memory(maxAge: Duration = .zero, maxBytes: Int = 100 << 20) -> CacheSettings {
        CacheSettings(storage: .memory, maxAge: maxAge, maxBytes: maxBytes)
    }

    public static let off = CacheSettings(storage: .off, maxAge: .zero, maxBytes: 0)
}

/// The source of the app's tokens, and so of its user.
public struct AuthSource: Sendable {
    package let token: @Sendable () async throws -> String?
    /// Nil: the user is read from the token.
    package let user: (@Sendable () async -> String?)?

    /// Nobody is signed in.
    public static let none = AuthSource(token: { nil }, user: nil)

    /// A token that does not change.
    public static func token(_ token: String) -> AuthSource { AuthSource(token: { token }, user: nil) }

    /// Asks the app for the token of its user; nil: nobody is signed in. The SDK asks before the token expires (its
    /// claim `exp`), after the server rejected it, and when `authChanged` is called.
    ///
    /// Without `user`, the user is the claim `sub` of the token. An app whose provider needs the network should pass
    /// `user`, so that cached data can be shown offline.
    public static func provider(
        user: (@Sendable () async -> String?)? = nil, token: @escaping @Sendable () async throws -> String?
    ) -> AuthSource {
        AuthSource(token: token, user: user)
    }
}

/// Further settings of a connector; the defaults suit apps.
public struct ConnectorOptions: Sendable {
    /// How long a request may take.
    public var requestTimeout: Duration = .seconds(30)
    /// How often a request is sent again whose answer was lost, or whose server is busy; a mutation also after a
    /// timeout. It carries a key, under which the server applies it once.
    public var retriesMax = 3
    /// How many mutations may wait in the queue.
    public var queuedMutationsMax = 1_000
    /// A newer token is asked for so long before the present one expires.
    public var tokenLead: Duration = .seconds(30)
    /// Whether changes of the network and the app's return to the foreground count as `networkChanged()`; on Apple's
    /// systems only.
    public var followsNetwork = true
    /// The servers whose certificates are accepted.
    public var trust = ServerTrust.system

    public init() {}
}

/// The origin of a result.
public enum ResultSource: Sendable, Hashable {
    case cache
    case server
}

/// Whether a cached result will do. Source: SDK specification §1, rows 13 and 14.
public enum FetchPolicy: Sendable, Hashable {
    /// A cached result that is not older than `maxAge`, or else the server's.
    case preferCache
    /// A cached result of any age.
    case cacheOnly
    /// The server's result.
    case serverOnly
}
