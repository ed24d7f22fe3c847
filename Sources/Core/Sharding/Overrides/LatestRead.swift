/// A node's copy of a stored value that has a generation, such as the cluster's overrides. Decides which of several
/// concurrent reads counts, and whether the copy is up to date.
///
/// The read that began later counts, whichever ends first and even if its generation is lower: a broker that lost its
/// latest data has a lower one, and every node must follow it.
package struct LatestRead<Value: Sendable>: Sendable {
    /// Identifies a read; a later one has a greater number.
    package struct Ticket: Sendable, Hashable {
        fileprivate let number: UInt64
    }

    package private(set) var value: Value
    /// Nil: not read yet, and any generation is another one.
    private var generation: UInt64?
    private var lastBegun: UInt64 = 0
    private var lastApplied: UInt64 = 0

    package init(_ value: Value, generation: UInt64? = nil) {
        self.value = value
        self.generation = generation
    }

    /// The step that leads to a value as of some time after the generation was requested.
    package enum Step: Sendable {
        /// The copy is up to date.
        case useCopy(Value)
        /// Read the value, then call `end`.
        case read(Ticket)
    }

    /// Handles the generation that the server reported.
    package mutating func generationRead(_ generation: UInt64) -> Step {
        self.generation == generation ? .useCopy(value) : .read(begin())
    }

    /// Call before the read is sent.
    package mutating func begin() -> Ticket {
        lastBegun += 1
        return Ticket(number: lastBegun)
    }

    /// Applies what was read, unless a read begun later was applied already. A read that fails is not reported.
    /// - Returns: the former value; nil if the read does not count.
    package mutating func end(_ ticket: Ticket, _ value: Value, generation: UInt64) -> Value? {
        guard ticket.number > lastApplied else { return nil }
        lastApplied = ticket.number
        defer { (self.value, self.generation) = (value, generation) }
        return self.value
    }
}
