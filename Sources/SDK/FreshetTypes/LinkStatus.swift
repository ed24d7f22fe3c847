/// The state of a connector's link to its server, or a change of it.
public enum LinkStatus: Sendable, Hashable {
    /// There is no live query, so no link.
    case idle
    case connecting
    case connected
    /// Results are the last known ones since this time, because a link that worked was lost or stopped. The state of
    /// the link follows; `connected` or `idle` end it.
    case stale(since: Timestamp)
    /// The link was lost, for this reason; the next attempt follows after this time.
    case reconnecting(inMs: Int64, FreshetError)
    /// The app stopped it.
    case stopped
    /// The server refuses this client for good, or its token.
    case refused(FreshetError)
}
