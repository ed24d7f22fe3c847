/// The server's shared limits and counters, for another protocol that takes over a connection.
package struct HandoverContext: Sendable {
    /// The budget from which incomplete request bodies are reserved.
    package let bodies: BytesBudget
    /// Increments `HTTPServerCounters.peersCutOffTotal`.
    package let countCutOff: @Sendable () -> Void
    /// The rates of peers' addresses; nil: no limit.
    package let addressRates: AddressRates?

    /// The subjects of limits per address; nil: no limit.
    package let addresses: AddressSubjects?
    /// Whether bytes may bypass NIO; false if handlers below, such as TLS, must see them.
    package var writesDirectly = false

    package init(
        bodies: BytesBudget, addressRates: AddressRates? = nil, addresses: AddressSubjects? = nil,
        countCutOff: @escaping @Sendable () -> Void
    ) {
        self.bodies = bodies
        self.addressRates = addressRates
        self.addresses = addresses
        self.countCutOff = countCutOff
    }
}
