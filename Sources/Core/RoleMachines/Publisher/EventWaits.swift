package import LiveModel

/// The waits of this node until committed events are in the shards' streams. Pure.
///
/// An event is there once its row has left the outbox, since publishers remove rows only then. Unless the first look
/// finds that, a wait looks again and again, and has the event published if the row stays.
package struct EventWaits: Sendable {
    package struct Settings: Sendable {
        /// How long the node that committed the event has to publish it.
        package var patienceMs: Int64 = 250
        package var pauseMinMs: Int64 = 5
        package var pauseMaxMs: Int64 = 250
        /// The most waits that look again.
        package var repeatedMax = 64
        /// How long a row in place of several, once seen, is assumed to be there: finding it reads many rows.
        package var foldedMs: Int64 = 500

        package init() {}
    }

    /// One wait. Give it back with `ended`.
    package struct Wait: Sendable {
        fileprivate let deadlineMs: Int64
        fileprivate let patientUntilMs: Int64
        fileprivate var pauseMs: Int64
        fileprivate var isRepeated = false
        fileprivate var isPublished = false
    }

    package enum Action: Sendable, Hashable {
        case appended
        /// Look again after the pause. If `isPublishing`, publish the event of the row first.
        case look(afterMs: Int64, isPublishing: Bool)
        case fail(RequestError)
    }

    private let settings: Settings
    private var repeated = 0
    private var foldedUntilMs = Int64.min

    package init(_ settings: Settings = Settings()) { self.settings = settings }

    package func began(withinMs: Int64, nowMs: Int64) -> Wait {
        Wait(
            deadlineMs: nowMs + withinMs, patientUntilMs: nowMs + settings.patienceMs, pauseMs: settings.pauseMinMs)
    }

    /// Whether a look must ask if a row in place of several is in the outbox; otherwise one is assumed to be.
    package func asksForFolded(nowMs: Int64) -> Bool { nowMs >= foldedUntilMs }

    /// - Parameters:
    ///   - hasRow: whether the event's row is in the outbox.
    ///   - isFolded: whether a row in place of several is there, of which any event that is gone may be part; nil if
    ///     that was not asked, or does not matter because the event has its row.
    package mutating func looked(_ wait: inout Wait, hasRow: Bool, isFolded: Bool?, nowMs: Int64) -> Action {
        if let isFolded { foldedUntilMs = isFolded ? nowMs + settings.foldedMs : .min }
        if !hasRow, !(isFolded ?? true) { return .appended }
        if nowMs >= wait.deadlineMs { return .fail(RequestError(.timeout, "the event is not published yet")) }
        if !wait.isRepeated {
            guard repeated < settings.repeatedMax else {
                return .fail(RequestError(.limitExceeded, "too many wait for events that are not published yet"))
            }
            repeated += 1
            wait.isRepeated = true
        }
        let isPublishing = hasRow && !wait.isPublished && nowMs >= wait.patientUntilMs
        if isPublishing { wait.isPublished = true }
        defer { wait.pauseMs = min(2 * wait.pauseMs, settings.pauseMaxMs) }
        return .look(afterMs: wait.pauseMs, isPublishing: isPublishing)
    }

    package mutating func ended(_ wait: Wait) { if wait.isRepeated { repeated -= 1 } }
}
