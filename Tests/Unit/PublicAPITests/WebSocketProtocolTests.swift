import HTTPServer
import NIOHTTP1
import Sessions
import TestSupport
import Testing

@testable import PublicAPI

/// Which machine serves a WebSocket, by its path and the subprotocols that the client offers.
@Suite struct WebSocketProtocolTests {
    private static let service = ServiceIdentity(service: "s", location: "l", connectors: ["c"])
    private static let connect = "google.firebase.dataconnect.v1.ConnectorStreamService"
    /// Machines that serve no WebSocket, each with its reason.
    private static let exceptions: [String: String] = ["ConnectorStreamMachine<StreamProtobuf>": "serves gRPC"]

    private static let routes: [(path: String, offered: [String], machine: String)] = [
        ("/graphql", ["graphql-transport-ws"], "GraphQLTransportWSMachine"),
        ("/graphql", ["graphql-ws"], "GraphQLWSMachine"),
        ("/graphql", ["graphql-ws", "graphql-transport-ws"], "GraphQLTransportWSMachine"),
        ("/graphql/realtime", ["graphql-ws"], "AppSyncMachine"),
        ("/ws/\(connect).Connect/p/locations/l/services/s", [], "ConnectorStreamMachine<StreamJSON>"),
    ]

    private func machine(_ path: String, _ offered: [String]) -> String? {
        let headers = HTTPHeaders(offered.map { ("sec-websocket-protocol", $0) })
        let request = HTTPRequest(method: .GET, path: path, headers: headers)
        guard case .accepted(let spoken) = WebSocketProtocol.choose(request, service: Self.service) else { return nil }
        return "\(type(of: spoken.machine(SessionOpening(operationsMax: 1))))"
    }

    @Test func everyRouteLeadsToItsMachine() {
        for route in Self.routes { #expect(machine(route.path, route.offered) == route.machine, "\(route)") }
    }

    @Test func everyMachineHasARoute() throws {
        let machines = try SessionMachines.names()
        let served = Set(Self.routes.compactMap { machine($0.path, $0.offered) })
        #expect(served.union(Self.exceptions.keys) == machines)
        #expect(served.isDisjoint(with: Self.exceptions.keys))
    }
}
