import FreshetTransport

/// The way to a scripted server.
struct ScriptedTransport: Transport {
    let server: ScriptedServer

    func connect(
        path: String, subprotocol: String, onEvent: @escaping @Sendable (SocketEvent) -> Void
    ) -> any SocketConnection {
        ScriptedConnection(server: server, number: server.open(onEvent))
    }

    func send(_ request: TransportRequest) async throws(TransportFailure) -> TransportResponse {
        try server.respond(request)
    }

    func close() async {}
}

struct ScriptedConnection: SocketConnection {
    let server: ScriptedServer
    let number: Int?

    func send(_ text: [UInt8]) { if let number { server.received(number, text) } }
    func close(code: UInt16) { if let number { server.closed(number) } }
}
