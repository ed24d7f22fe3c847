/// Which sessions of a drain are told to come back elsewhere at which time: evenly over `overMs`, so that the nodes they
/// go to are not stormed. Pure.
///
/// In portions, because a timer for each of very many sessions would be late; in each as many as in any other, or one more.
struct DrainPlan: Sendable, Hashable {
    /// The least time between two portions.
    static let stepMs: Int64 = 20

    let sessions: Int
    /// 0: all at once.
    let overMs: Int64

    var portions: Int {
        sessions > 0 ? max(1, min(sessions, Int(clamping: overMs / Self.stepMs))) : 0
    }

    /// Since the drain began; before `overMs`.
    func atMs(_ portion: Int) -> Int64 { Int64(portion) * max(0, overMs) / Int64(max(1, portions)) }

    /// Numbers of the sessions.
    func members(of portion: Int) -> StrideTo<Int> { stride(from: portion, to: sessions, by: max(1, portions)) }
}
