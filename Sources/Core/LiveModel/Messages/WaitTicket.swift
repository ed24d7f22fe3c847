import JSON

/// A ticket in a shard's events stream: an event without a mutation, by which a gateway learns that it has the results
/// of all that came before it. The shard's owner sends its number to that gateway once those results are sent. Its form
/// is that of a marker without a time, which owners of an older release ignore.
package struct WaitTicket: Sendable, Hashable {
    /// The gateway that appended it.
    package let gateway: NodeID
    /// Increases with each ticket that the gateway appends to the shard's stream.
    package let number: UInt64

    package init(gateway: NodeID, number: UInt64) {
        self.gateway = gateway
        self.number = number
    }
}

extension MutationEvent {
    /// Makes the event of a ticket.
    package init(_ ticket: WaitTicket, appendedAtMs: Int64) {
        self.init(
            id: "ticket \(ticket.number) of \(ticket.gateway)", operation: Self.marker,
            variables: ["gateway": .string(ticket.gateway.name), "ticket": .string(String(ticket.number))],
            auth: .null, authParts: .nothing, keysWritten: [], rows: RowChanges([]), traceID: "",
            committedAtMs: appendedAtMs)
    }

    /// The ticket; nil if this is none.
    package var ticket: WaitTicket? {
        guard isMarker, let gateway = variables["gateway"]?.stringValue,
            let number = variables["ticket"]?.stringValue.flatMap({ UInt64($0) })
        else { return nil }
        return WaitTicket(gateway: NodeID(gateway), number: number)
    }
}
