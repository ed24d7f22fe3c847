/// The server's shared limits and counters, for another protocol that takes over a connection.
package struct HandoverContext: Sendable {
    /// The budget from which incomplete request bodies are reserved.
    package let bodies: BytesBudget
    /// Increments `HTTPServerCounters.peersCutOffTotal`.
    package let countCutOff: @Sendable () -> Void

    package init(bodies: BytesBudget, countCutOff: @escaping @Sendable () -> Void) {
        self.bodies = bodies
        self.countCutOff = countCutOff
    }
}
