package import LiveModel

/// The one-shot operations of one session: those whose response the client awaits, by their ids, and the number of
/// those that have not finished, including the ones that the client gave up. Generic over their work, which it never
/// touches.
package struct OneShotOperations<Work> {
    /// One use of an id. A client may reuse the id of an operation that it gave up.
    package struct Run: Hashable, Sendable {
        package let id: String
        let number: UInt64
    }

    private var awaited: [String: (run: Run, work: Work?)] = [:]
    private var lastNumber: UInt64 = 0
    package private(set) var runningCount = 0
    package let runningMax: Int

    /// - Parameter runningMax: the maximum of operations that have not finished.
    package init(runningMax: Int) {
        self.runningMax = runningMax
    }

    /// Whether another operation may begin.
    package var hasRoom: Bool { runningCount < runningMax }

    /// Checks whether another operation may begin.
    /// - Throws: `.limitExceeded`.
    package func requireRoom() throws(RequestError) {
        guard runningCount < runningMax else { throw .operationsMaximum(runningMax) }
    }

    /// Begins an operation; `finished` must follow.
    package mutating func begin(_ id: String) -> Run {
        lastNumber += 1
        runningCount += 1
        let run = Run(id: id, number: lastNumber)
        awaited[id] = (run, nil)
        return run
    }

    /// Stores the work of a run, for `end` to return while its response is awaited.
    package mutating func attach(_ work: Work, to run: Run) {
        if awaited[run.id]?.run == run { awaited[run.id]?.work = work }
    }

    /// Ends a run.
    /// - Returns: whether its response is awaited.
    package mutating func finished(_ run: Run) -> Bool {
        runningCount -= 1
        guard awaited[run.id]?.run == run else { return false }
        awaited[run.id] = nil
        return true
    }

    /// Gives up an operation: it runs on, and its response is dropped.
    package mutating func giveUp(_ id: String) {
        awaited[id] = nil
    }

    /// Gives up all operations, because the session ends.
    /// - Returns: the work to cancel.
    package mutating func giveUpAll() -> [Work] {
        defer { awaited = [:] }
        return awaited.values.compactMap(\.work)
    }
}
