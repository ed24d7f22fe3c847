import LiveModel

/// One live query of a gateway.
struct InterestEntry: Sendable {
    let query: LiveQuery
    var place: ShardRoute
    /// Subscriptions per hub; a hub without is absent.
    var hubs: [Int: Int] = [:]
    var held: Held = .nothing
    /// Set until the owner answers the last announcement: when it is repeated.
    var repeatAtMs: Int64?
    var isAwaiting: Bool { repeatAtMs != nil }
    var retries = 0
    /// When the live query ends, if nobody subscribes until then.
    var lingerUntilMs: Int64?
    /// Number of the first announcement at this place: what answers an earlier one comes from another registration.
    var firstAsk: UInt64 = 0
    /// Number of the first announcement that only a later run can answer; nil once one has.
    var freshAsk: UInt64?
    /// A session here wants to hear of each run of a timer. Stays while the live query lives: it costs little.
    var wantsTicks = false

    enum Held: Sendable {
        case nothing
        /// A client came back with this; the body is with the client alone.
        case claim(KnownResult)
        case result(LiveResult)

        var known: KnownResult? {
            switch self {
            case .nothing: nil
            case .claim(let known): known
            case .result(let result): KnownResult(digest: result.digest, position: result.position)
            }
        }

        /// The same, fresh up to `id` at least.
        mutating func settle(through id: StreamID) {
            switch self {
            case .nothing: break
            case .claim(var known):
                known.position = known.position?.through(id)
                self = .claim(known)
            case .result(var result):
                result.position = result.position.through(id)
                self = .result(result)
            }
        }
    }

    init(query: LiveQuery, place: ShardRoute) {
        self.query = query
        self.place = place
    }

    /// What is told to the owner: positions of another place mean nothing to it.
    var knownToOwner: KnownResult? {
        guard var known = held.known else { return nil }
        if known.position?.placement != place.version { known.position = nil }
        known.position = known.position?.at(placement: 0)
        return known
    }

    /// Whether `position`, of an arriving message and stamped with this place, is older than what is held.
    func isOlder(_ position: Position) -> Bool {
        guard case .result(let result) = held, result.position.isOrdered(with: position) else { return false }
        return position < result.position
    }
}
