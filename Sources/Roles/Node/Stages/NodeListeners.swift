import Admin
import Cluster
import Execution
import Gateway
import GRPC
import HTTPServer
import LiveModel
import PublicAPI
import RoleMachines
import Settings

/// The last stage of a start, which opens the public port and the admin port.
struct NodeListeners: Sendable {
    let server: HTTPServer
    let grpc: GRPCServer
    let certificate: CertificateFiles?
    let address: ServiceNode.Address

    /// - Parameter gate: answers on the ports until this stage opens them.
    static func open(
        _ node: NodeContext, _ access: NodeAccess, _ administered: AdministeredNode, _ roles: NodeRoles,
        _ readiness: NodeReadiness, _ network: NodeNetwork, _ gate: StartupGate, _ parts: ClosingStack
    ) async throws(NodeError) -> NodeListeners {
        let certificate = try CertificateFiles.open(node)
        let rates = node.addressRates
        let services = adminServices(node, administered, roles, network)
        let operations = AdministratorOperations(executor: roles.executor)
        var publicServices = services
        publicServices.isOnPublicPort = true
        let anyone = AdminAccess(token: nil, hosts: .local)
        let streams = ReportStreams(streamsMax: node.reportStreamsMax)
        let console = node.isDevelopment ? endpoint(node, publicServices, operations, anyone, streams) : nil
        let router = PublicRouter(
            executor: roles.executor, gateway: roles.gateway, settings: node.publicAPISettings,
            sessions: roles.sessions, addressRates: rates, console: console, logger: node.logger,
            isReady: { readiness.isServing },
            isAdvertised: { readiness.isReady }, problem: { readiness.problem })
        let grpc = GRPCServer(configuration: node.grpcConfiguration, handler: router)
        let server = HTTPServer(
            configuration: node.httpConfiguration, handler: router, logger: node.logger, group: network.group,
            http2: grpc.setup, tls: certificate?.tls.handlers, addressRates: rates,
            addresses: node.addressSubjects)
        await gate.end()
        let adminPort = try await openAdmin(
            node, endpoint(node, services, operations, access.admin, streams), network, parts)
        let port = try await open(server, "\(node.settings.http.host):\(node.settings.http.port)")
        parts.push("public port") { await server.shutdown(graceMs: $0.workMs) }
        return NodeListeners(
            server: server, grpc: grpc, certificate: certificate,
            address: ServiceNode.Address(publicPort: port, adminPort: adminPort))
    }

    private static func adminServices(
        _ node: NodeContext, _ administered: AdministeredNode, _ roles: NodeRoles, _ network: NodeNetwork
    ) -> AdminServices {
        let membership = administered.cluster.membership
        let peers = PeerReports(
            own: node.id, nodes: { try await membership.liveNodes().nodes }, sender: network.sender,
            token: node.settings.admin.token, settings: node.peerSettings)
        return AdminServices(
            inspector: NodeInspector(administered), operator: NodeOperator(administered), peers: peers,
            why: WhyService(administered, peers: peers),
            following: roles.gateway.map {
                LiveQueryFollower(
                    executor: roles.executor, gateway: $0, sessions: roles.sessions, settings: node.publicAPISettings)
            })
    }

    private static func endpoint(
        _ node: NodeContext, _ services: AdminServices, _ operations: AdministratorOperations, _ access: AdminAccess,
        _ streams: ReportStreams
    ) -> AdminEndpoint {
        AdminEndpoint(
            services: services, operations: operations, access: access, streams: streams,
            nowMs: { [clock = node.clock] in clock.nowMs() }, logger: node.logger)
    }

    /// - Returns: nil without the role `admin`.
    private static func openAdmin(
        _ node: NodeContext, _ endpoint: AdminEndpoint, _ network: NodeNetwork, _ parts: ClosingStack
    ) async throws(NodeError) -> Int? {
        guard node.settings.cluster.roles.contains(.admin) else { return nil }
        let admin = node.settings.admin
        var configuration = HTTPServerConfiguration()
        configuration.host = admin.host
        configuration.port = admin.port
        // Streams leave room for probes, metrics and other nodes.
        configuration.connectionsMax = 64 + node.settings.inspect.reportStreamsMax + node.settings.inspect.tailsMax
        configuration.compression = node.httpConfiguration.compression
        let server = HTTPServer(
            configuration: configuration, handler: endpoint, logger: node.logger, group: network.group)
        let port = try await open(server, "\(admin.host):\(admin.port) (admin)")
        parts.push("admin port") { _ in await server.shutdown(graceMs: 0) }
        return port
    }

    private static func open(_ server: HTTPServer, _ name: String) async throws(NodeError) -> Int {
        do {
            return try await server.start()
        } catch {
            throw NodeError("cannot listen on \(name): \(ServiceNode.reason(error))")
        }
    }
}
