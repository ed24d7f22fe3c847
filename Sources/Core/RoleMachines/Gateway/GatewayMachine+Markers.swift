package import LiveModel
package import Sessions

/// Markers and the waits of sessions, which go the same way.
extension GatewayMachine {
    // MARK: Markers

    /// Handles a marker that every hub has taken, after what arrived before it.
    package mutating func markerTaken(_ arrived: InterestMachine.ArrivedMarker, nowMs: Int64) -> [Effect] {
        interest.markerTaken(arrived, nowMs: nowMs)
        return [.reportMarker(MarkerHops(arrived, takenAtMs: nowMs))]
    }

    package func lag(nowMs: Int64) -> LagReport { interest.lag(nowMs: nowMs) }

    // MARK: Waits

    /// Begins a wait of a session until it has the results of what was committed before.
    /// - Parameters:
    ///   - position: the id of the mutation's event; nil: whatever is in the shards' streams already.
    ///   - keys: the live queries that the session follows.
    /// - Throws: `.limitExceeded`.
    package mutating func waitBegan(
        hub: Int, for position: String?, keys: Set<LiveQueryKey>, nowMs: Int64
    ) throws(RequestError) -> (id: InterestMachine.WaitID, effects: [Effect]) {
        let id = try interest.waitBegan(hub: hub, keys: keys, nowMs: nowMs)
        guard let position, !keys.isEmpty else { return (id, waitAppended(id, problem: nil, nowMs: nowMs)) }
        return (id, [.ensureAppended(id, position: position)])
    }

    /// - Parameter problem: why the event may not be in the streams.
    package mutating func waitAppended(
        _ id: InterestMachine.WaitID, problem: RequestError?, nowMs: Int64
    ) -> [Effect] {
        effects(of: interest.waitAppended(id, problem: problem, nowMs: nowMs))
    }

    package mutating func waitEnded(_ id: InterestMachine.WaitID) { interest.waitEnded(id) }
}
