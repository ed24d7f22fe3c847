import HTTPServer
import LiveModel
import NIOHTTP1
import Sessions

/// A client protocol over WebSocket. A connection's path and the subprotocols it offers select the machine that serves
/// it.
struct WebSocketProtocol: Sendable {
    /// The subprotocol; nil if the path alone decides.
    let subprotocol: String?
    let machine: @Sendable (SessionOpening) -> any SessionMachine

    enum Choice: Sendable {
        /// The path is unknown.
        case unknownPath
        /// None of the client's subprotocols is supported at this path.
        case noneOffered
        /// The path names a service that is not served here.
        case refused(RequestError)
        case accepted(WebSocketProtocol)

        var isKnown: Bool {
            switch self {
            case .unknownPath: false
            case .noneOffered, .refused, .accepted: true
            }
        }
    }

    /// Selects the first of the path's protocols that the client offers; the server's order of preference counts.
    static func choose(_ request: HTTPRequest, service: ServiceIdentity) -> Choice {
        let offered = request.headers[canonicalForm: "sec-websocket-protocol"].map(String.init)
        if let path = ConnectorStreamPath(request.path) {
            if let refusal = service.refusal(location: path.location, service: path.service) {
                return .refused(refusal.error)
            }
            return .accepted(
                WebSocketProtocol(subprotocol: nil) {
                    ConnectorStreamMachine<StreamJSON>($0, service: service)
                })
        }
        let spoken = protocols(request, offered: offered)
        if spoken.isEmpty { return .unknownPath }
        let chosen = spoken.first { spoken in spoken.subprotocol.map(offered.contains) ?? true }
        return chosen.map(Choice.accepted) ?? .noneOffered
    }

    private static func protocols(_ request: HTTPRequest, offered: [String]) -> [WebSocketProtocol] {
        switch request.path {
        // Clients configured with only a host connect to `/graphql`.
        case "/graphql" where request.query("header") != nil: [appSync(request, offered: offered)]
        case "/graphql":
            [
                WebSocketProtocol(subprotocol: GraphQLTransportWSMachine.subprotocol) { GraphQLTransportWSMachine($0) },
                WebSocketProtocol(subprotocol: GraphQLWSMachine.subprotocol) { GraphQLWSMachine($0) },
            ]
        case "/graphql/realtime": [appSync(request, offered: offered)]
        default: []
        }
    }

    /// Makes the AppSync protocol. The authorization is in the query, in a subprotocol beside the real one, or in the
    /// headers.
    private static func appSync(_ request: HTTPRequest, offered: [String]) -> WebSocketProtocol {
        let prefix = "header-"
        let handshake: AppSyncAuthorization =
            if let item = request.query("header") {
                AppSyncAuthorization(base64: item)
            } else if let item = offered.first(where: { $0.hasPrefix(prefix) }) {
                AppSyncAuthorization(base64: item.dropFirst(prefix.count))
            } else {
                AppSyncAuthorization(header: { request.header($0) })
            }
        return WebSocketProtocol(subprotocol: AppSyncMachine.subprotocol) {
            AppSyncMachine($0, handshake: handshake)
        }
    }
}
