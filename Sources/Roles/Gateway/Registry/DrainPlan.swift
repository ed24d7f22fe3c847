/// The schedule by which a drain moves sessions to other nodes: evenly over `overMs`, so that those nodes are not
/// overloaded. Pure.
///
/// Sessions go in portions of equal size (give or take one), because a timer for each of very many sessions would be
/// late.
struct DrainPlan: Sendable, Hashable {
    /// The minimum time between two portions.
    static let stepMs: Int64 = 20

    let sessions: Int
    /// The duration of the drain; 0 moves all sessions at once.
    let overMs: Int64

    var portions: Int {
        sessions > 0 ? max(1, min(sessions, Int(clamping: overMs / Self.stepMs))) : 0
    }

    /// Returns the time of a portion since the drain began; less than `overMs`.
    func atMs(_ portion: Int) -> Int64 { Int64(portion) * max(0, overMs) / Int64(max(1, portions)) }

    /// Returns the indices of a portion's sessions.
    func members(of portion: Int) -> StrideTo<Int> { stride(from: portion, to: sessions, by: max(1, portions)) }
}
