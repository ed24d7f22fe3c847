import JSON

/// A marker on its way through a shard, with the time of each hop so far. It measures how old what subscribers see can
/// be: it goes the way of a mutation's event, and every hop passes it on only after what came before it.
///
/// All times are milliseconds since 1970, each by the clock of the machine named: a difference between two machines
/// includes the difference of their clocks.
package struct LagMarker: Sendable, Hashable {
    /// The time at which some node had to commit it, a multiple of the interval of markers. Markers of one time are the
    /// same marker: two nodes may have committed it.
    package var dueMs: Int64
    /// The time of its commit, by the API node's clock.
    package var committedAtMs: Int64
    /// Its entry in the shard's stream.
    package var entry: StreamID
    /// The times at which the worker read it and passed it on, by the worker's clock.
    package var readAtMs: Int64
    package var passedAtMs: Int64

    /// The time of its append to the shard's stream, by Redis' clock.
    package var appendedAtMs: Int64 { Int64(clamping: entry.ms) }

    /// The time of each hop so far, never negative although clocks differ: from its commit to its append, until the
    /// worker read it, and until the worker passed it on.
    package var appendMs: Int64 { max(0, appendedAtMs - committedAtMs) }
    package var readMs: Int64 { max(0, readAtMs - appendedAtMs) }
    package var runsMs: Int64 { max(0, passedAtMs - readAtMs) }

    package init(dueMs: Int64, committedAtMs: Int64, entry: StreamID, readAtMs: Int64, passedAtMs: Int64) {
        self.dueMs = dueMs
        self.committedAtMs = committedAtMs
        self.entry = entry
        self.readAtMs = readAtMs
        self.passedAtMs = passedAtMs
    }
}

extension LagMarker {
    var json: JSONObject {
        [
            "due": .int(dueMs), "committed": .int(committedAtMs), "entry": .string(entry.description),
            "read": .int(readAtMs), "passed": .int(passedAtMs),
        ]
    }

    init(json object: JSONObject) throws(MessageError) {
        guard let entry = StreamID(try object.string("entry")) else { throw MessageError(field: "entry") }
        self.init(
            dueMs: try object.int("due"), committedAtMs: try object.int("committed"),
            entry: entry, readAtMs: try object.int("read"),
            passedAtMs: try object.int("passed"))
    }
}

/// Markers in the outbox and in a shard's events stream: events of a mutation that no connector has. A node of a
/// version that does not know them finds that they concern no live query.
extension MutationEvent {
    package static let marker = OperationReference(connector: "@freshet", operation: "marker")

    package var isMarker: Bool { operation == Self.marker }

    /// Makes the event of a marker.
    package init(markerDueAtMs dueMs: Int64, id: String, committedAtMs: Int64) {
        self.init(
            id: id, operation: Self.marker, variables: ["due": .int(dueMs)], auth: .null, authParts: .nothing,
            keysWritten: [], rows: RowChanges([]), traceID: "", committedAtMs: committedAtMs)
    }

    /// The time at which the marker had to be committed; nil if this is not a marker.
    package var markerDueMs: Int64? { isMarker ? variables["due"]?.intValue.map(StoredNumber.timeMs) : nil }
}
