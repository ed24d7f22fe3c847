/// What a server has in common with who takes a connection over.
package struct ServerShare: Sendable {
    /// What is kept of bodies that are arriving is taken from here.
    package let bodies: BytesBudget
    /// One more of `HTTPServerCounters.peersCutOffTotal`.
    package let countCutOff: @Sendable () -> Void

    package init(bodies: BytesBudget, countCutOff: @escaping @Sendable () -> Void) {
        self.bodies = bodies
        self.countCutOff = countCutOff
    }
}
