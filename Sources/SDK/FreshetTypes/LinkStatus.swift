/// The state of a connector's link to its server.
public enum LinkStatus: Sendable, Hashable {
    /// There is no live query, so no link.
    case idle
    case connecting
    case connected
    /// The link was lost, for this reason; the next attempt follows after this time. Results are stale meanwhile.
    case reconnecting(inMs: Int64, FreshetError)
    /// The app stopped it.
    case stopped
    /// The server refuses this client for good, or its token.
    case refused(FreshetError)
}
