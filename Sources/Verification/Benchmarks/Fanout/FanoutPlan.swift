import CBroadcaster
import HTTPServer
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// One pass of one mode.
struct Plan {
    let client: cb_process
    let sessions: Int
    let rounds: Int
    let eventLoops: Int
    let envelope: Envelope

    func runBare(_ server: cb_process, port: UInt16) throws -> FanoutBenchmark.Row {
        var (client, server) = (client, server)
        try check(cb_server_accept(&server, UInt32(sessions)), "bare server")
        try check(cb_client_connect(&client, port, UInt32(sessions)), "connecting")
        try check(cb_server_accepted(&server), "bare server")
        var before: UInt64 = 0
        var after: UInt64 = 0
        try check(cb_server_round(&server), "warm-up")
        try check(cb_client_wait(&client, UInt64(sessions), 60_000), "warm-up")
        try check(cb_server_cpu_us(&server, &before), "bare server")
        let start = Clock.now
        for round in 1...rounds {
            try check(cb_server_round(&server), "round")
            try check(cb_client_wait(&client, UInt64(sessions * (round + 1)), 60_000), "round")
        }
        let seconds = Clock.now - start
        try check(cb_server_cpu_us(&server, &after), "bare server")
        try check(cb_client_disconnect(&client), "disconnecting")
        return row(.bareC, cpuMicroseconds: after - before, deliveries: sessions * rounds, seconds, nil)
    }

    func runServer(mode: FanoutBenchmark.Mode) async throws -> FanoutBenchmark.Row {
        var client = client
        let group = MultiThreadedEventLoopGroup(numberOfThreads: eventLoops)
        let application = FanoutApplication(envelope: envelope, loops: Array(group.makeIterator()))
        var configuration = HTTPServerConfiguration()
        configuration.connectionsMax = sessions + 16
        configuration.webSocketPingIntervalMs = 600_000
        let belowHTTP: TLSHandlers = { [Inert()] }
        let server = HTTPServer(
            configuration: configuration, handler: application,
            logger: Logger(label: "fanout") { _ in
                SwiftLogNoOpLogHandler()
            }, group: group,
            tls: mode == .channelWrite ? belowHTTP : nil)
        let port = try await server.start()
        let residentBefore = cb_own_resident_bytes()
        try check(cb_client_connect(&client, UInt16(port), UInt32(sessions)), "connecting")
        while application.subscribed.load(ordering: .relaxed) < sessions {
            try await Task.sleep(for: .milliseconds(1))
        }
        let idle = Double(Int(cb_own_resident_bytes()) - Int(residentBefore)) / 1024 / Double(sessions)

        let perRound = mode == .gathered ? 4 : 1
        try await application.broadcast(mode: mode)
        try check(cb_client_wait(&client, UInt64(sessions * perRound), 60_000), "warm-up")
        let before = cb_own_cpu_us()
        let start = Clock.now
        for round in 1...rounds {
            try await application.broadcast(mode: mode)
            try check(cb_client_wait(&client, UInt64(sessions * perRound * (round + 1)), 60_000), "round")
        }
        let seconds = Clock.now - start
        let used = cb_own_cpu_us() - before
        try check(cb_client_disconnect(&client), "disconnecting")
        await server.shutdown(graceMs: 2_000)
        try await group.shutdownGracefully()
        return row(mode, cpuMicroseconds: used, deliveries: sessions * rounds * perRound, seconds, idle)
    }

    private func row(
        _ mode: FanoutBenchmark.Mode, cpuMicroseconds: UInt64, deliveries: Int, _ seconds: Double, _ idle: Double?
    ) -> FanoutBenchmark.Row {
        FanoutBenchmark.Row(
            name: mode.rawValue, cpuSecondsPerMillion: Double(cpuMicroseconds) / Double(deliveries),
            deliveriesPerSecond: Double(deliveries) / seconds, idleKiBPerConnection: idle)
    }
}

/// A minimal application with subscribers: every WebSocket that sends a message gets every result.
private final class FanoutApplication: HTTPHandler {
    let envelope: Envelope
    let subscribed = Atomic<Int>(0)
    private let groups: [SubscriberGroup]

    init(envelope: Envelope, loops: [any EventLoop]) {
        self.envelope = envelope
        groups = loops.map { SubscriberGroup(loop: $0) }
    }

    func handle(_ request: HTTPRequest, _ exchange: HTTPExchange) {
        exchange.respond(.notFound)
    }

    func webSocket(_ request: HTTPRequest) -> WebSocketDecision {
        .accept(subprotocol: nil) { [self] connection in
            let group = groups.first { $0.loop === connection.eventLoop }!
            return Subscriber(connection: connection, group: group, application: self)
        }
    }

    /// Sends a round. Returns when everything has been sent, like the bare server's round: the client shares the two
    /// cores, its wake-ups are charged to the sender, and it starts to read only then.
    func broadcast(mode: FanoutBenchmark.Mode) async throws {
        let envelope = envelope
        let rounds = groups.map { group in group.loop.submit { group.send(envelope, mode: mode) } }
        for round in rounds { try await round.get() }
    }
}

/// The subscribers of one event loop.
///
/// `@unchecked Sendable`: `subscribers` is touched on `loop` only.
private final class SubscriberGroup: @unchecked Sendable {
    let loop: any EventLoop
    var subscribers: [Subscriber] = []

    init(loop: any EventLoop) { self.loop = loop }

    func send(_ envelope: Envelope, mode: FanoutBenchmark.Mode) {
        switch mode {
        case .bareC:
            break
        case .sharedFrame:
            let frame = EncodedTextFrame(text: envelope.text)
            for subscriber in subscribers { subscriber.connection.send(frame) }
        case .enveloped, .channelWrite:
            for subscriber in subscribers {
                subscriber.connection.send(prefix: subscriber.prefix, shared: envelope.payload, suffix: envelope.suffix)
            }
        case .gathered:
            for subscriber in subscribers {
                subscriber.connection.gathered {
                    for _ in 0..<4 {
                        subscriber.connection.send(
                            prefix: subscriber.prefix, shared: envelope.payload, suffix: envelope.suffix)
                    }
                }
            }
        }
    }
}

private final class Subscriber: WebSocketHandler {
    let connection: WebSocketConnection
    let prefix: [UInt8]
    private unowned let group: SubscriberGroup
    private unowned let application: FanoutApplication

    init(connection: WebSocketConnection, group: SubscriberGroup, application: FanoutApplication) {
        self.connection = connection
        self.group = group
        self.application = application
        prefix = application.envelope.prefix
    }

    func received(text: ByteBuffer) {
        group.subscribers.append(self)
        application.subscribed.wrappingAdd(1, ordering: .relaxed)
    }

    func received(binary: ByteBuffer) {}

    func closed(code: UInt16?) {
        group.subscribers.removeAll { $0 === self }
    }
}

/// Takes the position of TLS, which disables the direct write path.
private final class Inert: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
}
