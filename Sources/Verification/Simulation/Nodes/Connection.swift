import LiveModel
import Sessions

/// A connection between a client and a gateway: ordered, delayed, and possibly cut without either side noticing at
/// once.
///
/// Data that the gateway sent and the client has not read counts as unwritten, as with a full socket buffer.
final class Connection: SimulatedSession, SimulatedSubscription {
    let client: ClientApp
    /// The number among the client's connections, of which a gateway may temporarily have several.
    let number: Int
    let gateway: SimulatedGateway
    /// The client's live query in the version that was current at the gateway when the session began.
    let query: LiveQuery
    let hub: Int
    /// Whether the client gets a message for each timer run, even if nothing changed.
    let reportsTimerRuns: Bool
    private let timeline: Timeline
    var handle: Hub.Handle?
    private var results = DeliveryQueue<LiveResult>(bytesMax: World.sessionBytesMax)
    private var heldWaits = HeldWaits()
    private(set) var unwrittenBytes = 0
    private var arrivalMs: Int64 = 0
    private(set) var cutUntilMs: Int64 = 0
    var silentSinceMs: Int64?
    /// Whether the gateway has ended the connection.
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

    var order: SimulatedOrder { SimulatedOrder(client: client.number, connection: number) }
    var version: Digest { query.version }
    var subscriptions: [any SimulatedSubscription] { [self] }
    var session: any SimulatedSession { self }
    /// These clients do not ask for it.
    var confirmsKnown: Bool { false }
    var pendingCount: Int { results.count }

    /// Drops all data for this time; neither side notices.
    func cut(ms: Int64) { cutUntilMs = timeline.nowMs + ms }

    // MARK: The gateway's side

    func deliver(_ update: Hub.Update) {
        guard !isOver else { return }
        silentSinceMs = nil
        guard let update = update.tampered(by: gateway.world.sabotage, pending: results.count) else { return }
        switch results.decide(
            update, id: "1", byteCount: { $0.answer.body.count }, unwrittenBytes: unwrittenBytes)
        {
        case .write(let result): write(result)
        case .hold, .confirm: break
        case .close: gateway.close(self)
        case .fail: transmit { client, connection in client.failed(through: connection) }
        case .end(let refusal): preconditionFailure("no simulated query reads the time, but: \(refusal)")
        }
        if results.isEmpty { tellWaits() }
    }

    /// A wait of the client for a mutation is over: the client learns it behind the results.
    func answerWait(for event: String) {
        guard !isOver else { return }
        if results.isEmpty || gateway.world.sabotage == .waitAheadOfQueue { return tell(event) }
        heldWaits.hold(event, behind: results.ids)
    }

    private func tellWaits() { for event in heldWaits.written("1") { tell(event) } }

    private func tell(_ event: String) {
        transmit { client, connection in client.waited(for: event, through: connection) }
    }

    private func write(_ result: LiveResult) {
        unwrittenBytes += result.answer.body.count
        transmit { [self] client, connection in
            unwrittenBytes -= result.answer.body.count
            client.receive(result, through: connection)
            gateway.later(0) { [self] in
                while let next = results.next(unwrittenBytes: unwrittenBytes) {
                    write(next.item)
                    tellWaits()
                }
            }
        }
    }

    func end(isKilled: Bool) {
        guard !isOver else { return }
        isOver = true
        results.removeAll()
        heldWaits.removeAll()
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
