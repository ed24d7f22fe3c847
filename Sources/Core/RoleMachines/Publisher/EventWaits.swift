package import LiveModel

/// The waits of this node until committed events are in the shards' streams. Pure.
///
/// An event is there once its row has left the outbox, since publishers remove rows only then. Unless the first look
/// finds that, a wait looks again and again, and has the event published if the row stays. Where nodes leave events in
/// the log alone, the wait then leaves a mark in it, behind the event, and looks until its reader has published
/// everything up to there.
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
        /// The mark, in the slot of this incarnation.
        fileprivate var mark: LogPosition?
    }

    /// How far the log is published, or a place in it.
    package struct LogPosition: Sendable, Hashable {
        /// The incarnation of the slot.
        package let incarnation: String
        package let position: UInt64

        package init(incarnation: String, position: UInt64) {
            self.incarnation = incarnation
            self.position = position
        }
    }

    package enum Action: Sendable, Hashable {
        case appended
        /// Read how far the log is published, then call `looked(_:published:nowMs:)`.
        case lookAtLog(afterMs: Int64)
        /// Leave a mark in the log, then call `marked`.
        case mark
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
    ///   - mayBeLogged: whether nodes leave events in the log alone.
    package mutating func looked(
        _ wait: inout Wait, hasRow: Bool, isFolded: Bool?, mayBeLogged: Bool = false, nowMs: Int64
    ) -> Action {
        if let isFolded { foldedUntilMs = isFolded ? nowMs + settings.foldedMs : .min }
        if !hasRow, !(isFolded ?? true) {
            return mayBeLogged ? .lookAtLog(afterMs: 0) : .appended
        }
        if let error = repeats(&wait, nowMs: nowMs) { return .fail(error) }
        let isPublishing = hasRow && !wait.isPublished && nowMs >= wait.patientUntilMs
        if isPublishing { wait.isPublished = true }
        defer { wait.pauseMs = min(2 * wait.pauseMs, settings.pauseMaxMs) }
        return .look(afterMs: wait.pauseMs, isPublishing: isPublishing)
    }

    /// Admits that a wait looks again, or returns why it must not.
    private mutating func repeats(_ wait: inout Wait, nowMs: Int64) -> RequestError? {
        if nowMs >= wait.deadlineMs { return RequestError(.timeout, "the event is not published yet") }
        if wait.isRepeated { return nil }
        guard repeated < settings.repeatedMax else {
            return RequestError(.limitExceeded, "too many wait for events that are not published yet")
        }
        repeated += 1
        wait.isRepeated = true
        return nil
    }

    /// - Parameter published: nil if nobody leaves events in the log.
    package mutating func looked(_ wait: inout Wait, published: LogPosition?, nowMs: Int64) -> Action {
        guard let published else { return .appended }
        if let error = repeats(&wait, nowMs: nowMs) { return .fail(error) }
        guard let mark = wait.mark, mark.incarnation == published.incarnation else {
            // A slot that was created again starts behind a mark of before.
            wait.mark = LogPosition(incarnation: published.incarnation, position: .max)
            return .mark
        }
        if published.position >= mark.position { return .appended }
        defer { wait.pauseMs = min(2 * wait.pauseMs, settings.pauseMaxMs) }
        return .lookAtLog(afterMs: wait.pauseMs)
    }

    /// - Parameter position: that of the mark.
    package func marked(_ wait: inout Wait, at position: UInt64) -> Action {
        if let mark = wait.mark { wait.mark = LogPosition(incarnation: mark.incarnation, position: position) }
        return .lookAtLog(afterMs: wait.pauseMs)
    }

    package mutating func ended(_ wait: Wait) { if wait.isRepeated { repeated -= 1 } }
}
