/// Limits of the peer's input: its rates, and the share of incomplete messages in the server's memory.
extension WebSocketConnection {
    /// Counts the peer's frames for its address, too, which also decides when the first is read. Call at most once,
    /// while the connection's handler is made.
    package func count(for address: AddressRate?) {
        throttle.count(for: address)
        if !throttle.begin() { pauseReading() }
    }

    func pauseReading() {
        throttle.pause { [weak self] in if let self, readIsDue { readIfWanted() } }
    }

    /// Counts the bytes of an incomplete message against the server's body budget.
    /// - Parameter frameBytes: the bytes of an incomplete frame.
    func hold(frameBytes: Int) {
        guard handler != nil else { return }
        let bodies = transport.table.context.bodies
        if !bodies.change(&heldBytes, to: message.heldBytes + frameBytes) { fail(1013) }
    }
}
