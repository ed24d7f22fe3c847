internal import HTTPServer
internal import Sessions

/// The protocols over WebSocket: which machine serves a connection is told by its path and by the subprotocol it offers.
struct WebSocketProtocol: Sendable {
    /// Nil where the path alone decides.
    let subprotocol: String?
    let machine: @Sendable (SessionOpening) -> any SessionMachine

    enum Choice: Sendable {
        /// Nothing is at this path.
        case unknownPath
        /// Nothing that the client offers is spoken at this path.
        case noneOffered
        case accepted(WebSocketProtocol)

        var isKnown: Bool {
            switch self {
            case .unknownPath: false
            case .noneOffered, .accepted: true
            }
        }
    }

    /// The first of the path's protocols that the client offers: the server's preference counts.
    static func choose(_ request: HTTPRequest, offered: [String]) -> Choice {
        let spoken = protocols(request)
        if spoken.isEmpty { return .unknownPath }
        let chosen = spoken.first { spoken in spoken.subprotocol.map(offered.contains) ?? true }
        return chosen.map(Choice.accepted) ?? .noneOffered
    }

    private static func protocols(_ request: HTTPRequest) -> [WebSocketProtocol] {
        switch request.path {
        case "/graphql":
            [
                WebSocketProtocol(subprotocol: GraphQLTransportWSMachine.subprotocol) {
                    GraphQLTransportWSMachine($0)
                }
            ]
        default: []
        }
    }
}
