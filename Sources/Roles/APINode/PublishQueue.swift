/// What becomes of committed events on their way from the outbox to the streams. Pure; `EventPublisher` performs it.
///
/// An event that finds no room, or whose appends are not certain, stays in the outbox for the sweepers: published twice is
/// harmless, not at all is not. Bounds: `inFlightMax` events being published and as many rows waiting to be removed.
package struct PublishQueue<Row> {
    package let inFlightMax: Int
    /// Rows removed by one statement.
    package let deleteBatchMax: Int
    package private(set) var inFlight = 0
    private var published: [Row] = []
    private var isRemoving = false

    package init(inFlightMax: Int, deleteBatchMax: Int) {
        self.inFlightMax = inFlightMax
        self.deleteBatchMax = deleteBatchMax
    }

    package var removalsWaiting: Int { published.count }
    package var isIdle: Bool { inFlight == 0 && published.isEmpty && !isRemoving }

    /// A mutation committed with an outbox row.
    /// - Returns: whether to publish it now; else it is left to the sweepers.
    package mutating func committed() -> Bool {
        guard inFlight < inFlightMax else { return false }
        inFlight += 1
        return true
    }

    /// The appends of an event ended.
    /// - Parameter row: its row, when every shard's stream has the event for certain.
    /// - Returns: whether to begin removing rows.
    package mutating func ended(published row: Row?) -> Bool {
        inFlight -= 1
        // Rows beyond the bound stay.
        if let row, published.count < inFlightMax { published.append(row) }
        guard !isRemoving, !published.isEmpty else { return false }
        isRemoving = true
        return true
    }

    /// The rows to remove next. Empty: removing is over until `ended` begins it again.
    package mutating func nextRemoval() -> [Row] {
        let batch = Array(published.prefix(deleteBatchMax))
        published.removeFirst(batch.count)
        if batch.isEmpty { isRemoving = false }
        return batch
    }
}
