import JSON

/// The client protocols for live queries, each with a client's opening script.
package enum ClientKind: String, CaseIterable, Sendable {
    case graphqlTransportWS = "graphql-transport-ws"
    case graphqlWS = "graphql-ws"
    case appSync = "appsync"
    case sqlConnect = "sql-connect-ws"
    case grpc = "sql-connect-grpc"
    case graphqlSSE = "graphql-sse"
    case multipart = "multipart"
    case eventStream = "event-stream"
    case longPoll = "long-poll"

    var isWebSocket: Bool {
        switch self {
        case .graphqlTransportWS, .graphqlWS, .appSync, .sqlConnect: true
        case .grpc, .graphqlSSE, .multipart, .eventStream, .longPoll: false
        }
    }

    private static let text =
        """
        subscription GetLot($id: UUID!) {
          lot(id: $id) { id title category description startPrice highestBid bidCount open closesAt }
        }
        """
    private static let connector = "projects/p/locations/us-central1/services/auctions/connectors/auctions"

    /// Returns the script of a subscription to `GetLot` of the auctions sample.
    func script(lot: String) -> ClientScript {
        var script = ClientScript()
        let variables: JSONValue = ["id": .string(lot)]
        let request: JSONValue = ["query": .string(Self.text), "variables": variables]
        let resource = "/v1/connectors/auctions/queries/GetLot?variables=%7B%22id%22:%22\(lot)%22%7D"
        switch self {
        case .graphqlTransportWS:
            script.upgrade("/graphql", subprotocol: rawValue)
            script.message(["type": "connection_init"], until: "connection_ack")
            script.message(["id": "1", "type": "subscribe", "payload": request])
        case .graphqlWS:
            script.upgrade("/graphql", subprotocol: rawValue)
            script.message(["type": "connection_init"], until: "connection_ack")
            script.message(["id": "1", "type": "start", "payload": request])
        case .appSync:
            // {"host":"localhost"}
            let header = "eyJob3N0IjoibG9jYWxob3N0In0="
            script.upgrade("/graphql/realtime?header=\(header)&payload=e30=", subprotocol: "graphql-ws")
            script.message(["type": "connection_init"], until: "connection_ack")
            let data = String(decoding: JSONWriter.compact(request), as: UTF8.self)
            script.message([
                "id": "1", "type": "start",
                "payload": [
                    "data": .string(data), "extensions": ["authorization": ["host": "localhost"]],
                ],
            ])
        case .sqlConnect:
            script.upgrade(
                "/ws/google.firebase.dataconnect.v1.ConnectorStreamService.Connect/p/locations/us-central1/services/"
                    + "auctions",
                subprotocol: nil)
            script.message([
                "requestId": "1", "name": .string(Self.connector),
                "subscribe": ["operationName": "GetLot", "variables": variables],
            ])
        case .grpc:
            let value = GRPCBytes.field(2, GRPCBytes.field(3, lot))
            let fields = GRPCBytes.field(1, GRPCBytes.field(1, "id") + value)
            let execute = GRPCBytes.field(2, "GetLot") + GRPCBytes.field(3, fields)
            script.send(
                GRPCBytes.call(
                    path: "/google.firebase.dataconnect.v1.ConnectorStreamService/Connect",
                    message: GRPCBytes.field(1, Self.connector) + GRPCBytes.field(2, "1")
                        + GRPCBytes.field(3, execute)))
        case .graphqlSSE:
            script.post("/graphql", accept: "text/event-stream", request)
        case .multipart:
            script.post("/graphql", accept: "multipart/mixed;subscriptionSpec=1.0,application/json", request)
        case .eventStream:
            script.send("GET \(resource) HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
        case .longPoll:
            let first = "GET \(resource) HTTP/1.1\r\nHost: localhost\r\nPrefer: wait=60\r\n"
            script = ClientScript(nextRequest: (first + "If-None-Match: ", "\r\n\r\n"))
            script.send(first + "\r\n")
        }
        return script
    }
}
