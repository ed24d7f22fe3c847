import LiveModel
import Sessions

/// One connection between a client and a gateway: in order, with delay, and gone without either side noticing at once.
///
/// What the gateway sends and the client has not read counts as unwritten, as with a full socket buffer.
final class Connection {
    let client: ClientApp
    /// Among those of the client, of which a gateway may have several for a while.
    let number: Int
    let gateway: SimulatedGateway
    /// The client's live query as this gateway's release has it.
    let query: LiveQuery
    let hub: Int
    /// Whether the client gets a message for each run of a timer, also when nothing changed.
    let reportsTimerRuns: Bool
    private let timeline: Timeline
    var handle: SubscriptionTable<Connection>.Handle?
    private var outbox = DeliveryOutbox<LiveResult>(bytesMax: World.sessionBytesMax)
    private(set) var unwrittenBytes = 0
    private var arrivalMs: Int64 = 0
    private(set) var cutUntilMs: Int64 = 0
    /// The gateway has ended it.
    private(set) var isOver = false

    init(_ client: ClientApp, _ gateway: SimulatedGateway, _ query: LiveQuery, number: Int) {
        self.client = client
        self.number = number
        self.gateway = gateway
        self.query = query
        timeline = gateway.timeline
        hub = client.number % World.hubCount
        reportsTimerRuns = client.number % 3 == 0
    }

    /// Dictionaries have no order; the timeline does.
    func isBefore(_ other: Connection) -> Bool {
        (client.number, number) < (other.client.number, other.number)
    }

    var pendingCount: Int { outbox.count }

    /// Nothing comes through any more; neither side notices.
    func cut(ms: Int64) { cutUntilMs = timeline.nowMs + ms }

    // MARK: The gateway's side

    func deliver(_ delivery: InterestMachine.Delivery) {
        guard !isOver else { return }
        switch delivery {
        case .unchanged: break
        case .failed:
            outbox.discard(id: "1")
            transmit { client, connection in client.failed(through: connection) }
        case .result(let result), .unchangedTick(let result):
            if gateway.world.sabotage == .oldestPendingWins, !outbox.isEmpty { return }
            switch outbox.offer(result, id: "1", bytes: result.answer.body.count, unwrittenBytes: unwrittenBytes) {
            case .write: write(result)
            case .hold: break
            case .close: gateway.close(self)
            }
        }
    }

    private func write(_ result: LiveResult) {
        unwrittenBytes += result.answer.body.count
        transmit { [self] client, connection in
            unwrittenBytes -= result.answer.body.count
            client.receive(result, through: connection)
            gateway.later(0) { [self] in
                while !isOver, unwrittenBytes == 0, let next = outbox.next() { write(next.item) }
            }
        }
    }

    /// The gateway ends it, and the client notices.
    func end() {
        guard !isOver else { return }
        isOver = true
        transmit { client, connection in client.connectionLost(connection) }
    }

    private func transmit(_ arrive: @escaping (ClientApp, Connection) -> Void) {
        arrivalMs = max(arrivalMs, timeline.nowMs + gateway.world.networkDelay())
        timeline.at(arrivalMs) { [self] in arrived(arrive) }
    }

    private func arrived(_ arrive: @escaping (ClientApp, Connection) -> Void) {
        guard cutUntilMs <= timeline.nowMs else { return }
        if client.stalledUntilMs > timeline.nowMs {
            arrivalMs = max(arrivalMs, client.stalledUntilMs)
            timeline.at(client.stalledUntilMs) { [self] in arrived(arrive) }
        } else {
            arrive(client, self)
        }
    }
}
