import JSON

/// The protocols that a live query can be followed by, and how a client of each begins.
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
        "subscription GetMovieById($id: UUID!) { movie(id: $id) { id title releaseYear genre description } }"
    private static let connector = "projects/p/locations/us-central1/services/movies/connectors/movies"

    /// One subscription to `GetMovieById` of the movies sample.
    func script(movie: String) -> ClientScript {
        var script = ClientScript()
        let variables: JSONValue = ["id": .string(movie)]
        let request: JSONValue = ["query": .string(Self.text), "variables": variables]
        let resource = "/v1/connectors/movies/queries/GetMovieById?variables=%7B%22id%22:%22\(movie)%22%7D"
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
                "/ws/google.firebase.dataconnect.v1.ConnectorStreamService.Connect/p/locations/us-central1/services/movies",
                subprotocol: nil)
            script.message([
                "requestId": "1", "name": .string(Self.connector),
                "subscribe": ["operationName": "GetMovieById", "variables": variables],
            ])
        case .grpc:
            let value = GRPCBytes.field(2, GRPCBytes.field(3, movie))
            let fields = GRPCBytes.field(1, GRPCBytes.field(1, "id") + value)
            let execute = GRPCBytes.field(2, "GetMovieById") + GRPCBytes.field(3, fields)
            script.say(
                GRPCBytes.call(
                    path: "/google.firebase.dataconnect.v1.ConnectorStreamService/Connect",
                    message: GRPCBytes.field(1, Self.connector) + GRPCBytes.field(2, "1")
                        + GRPCBytes.field(3, execute)))
        case .graphqlSSE:
            script.post("/graphql", accept: "text/event-stream", request)
        case .multipart:
            script.post("/graphql", accept: "multipart/mixed;subscriptionSpec=1.0,application/json", request)
        case .eventStream:
            script.say("GET \(resource) HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
        case .longPoll:
            let first = "GET \(resource) HTTP/1.1\r\nHost: localhost\r\nPrefer: wait=60\r\n"
            script = ClientScript(again: (first + "If-None-Match: ", "\r\n\r\n"))
            script.say(first + "\r\n")
        }
        return script
    }
}
