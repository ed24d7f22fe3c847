import LiveModel
import Sessions

/// A live query that an app follows through a socket, and what the gateway knows the app to hold of it.
final class FollowedOperation: SimulatedSubscription {
    private unowned let socket: SimulatedSocket
    let id: String
    private let number: Int
    let query: LiveQuery
    let hub: Int
    var delta: DeltaState
    var resume: ResumeState
    var handle: Hub.Handle?
    var silentSinceMs: Int64?

    init(
        _ socket: SimulatedSocket, id: String, number: Int, _ query: LiveQuery, hub: Int, delta: DeltaState,
        resume: ResumeState
    ) {
        self.socket = socket
        self.id = id
        self.number = number
        self.query = query
        self.hub = hub
        self.delta = delta
        self.resume = resume
    }

    var session: any SimulatedSession { socket }
    var order: SimulatedOrder {
        SimulatedOrder(client: socket.order.client, connection: socket.link, subscription: number)
    }
    var reportsTimerRuns: Bool { false }
    var confirmsKnown: Bool { resume.isOn }

    func deliver(_ update: Hub.Update) { socket.deliver(update, to: self) }

    /// The mistake: a result that waits, and may never be written, counts as the one that the app holds.
    func mistakeForWritten(_ update: Hub.Update) {
        guard case .result(let result) = update else { return }
        _ = delta.advance(to: result.digest)
        socket.gateway.deltas[hub].remember(result.digest, result.answer)
    }
}
