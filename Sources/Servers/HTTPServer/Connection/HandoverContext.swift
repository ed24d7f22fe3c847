/// The server's shared limits and counters, for another protocol that takes over a connection.
package struct HandoverContext: Sendable {
    /// The budget from which incomplete request bodies are reserved.
    package let bodies: BytesBudget
    /// Increments `HTTPServerCounters.peersCutOffTotal`.
    package let countCutOff: @Sendable () -> Void
    /// The rates of peers' addresses; nil: no limit.
    package let addressRates: AddressRates?

    package init(
        bodies: BytesBudget, addressRates: AddressRates? = nil, countCutOff: @escaping @Sendable () -> Void
    ) {
        self.bodies = bodies
        self.addressRates = addressRates
        self.countCutOff = countCutOff
    }
}
