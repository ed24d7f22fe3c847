import Cluster
package import JSON
package import LiveModel
import NIOCore
package import OutboundHTTP

/// Asks the admin ports of the cluster's nodes for their parts of a report, several at a time, and forwards actions to
/// the node that they concern. A node that does not answer in time, or too much, is named in the report.
///
/// Requests carry this node's admin token, so all nodes of a cluster must have the same one.
package struct PeerReports: Sendable {
    package struct Settings: Sendable, Hashable {
        /// The limit until a node's whole answer is there.
        package var timeoutMs = 2_000
        package var answerBytesMax = 16 << 20
        /// The bytes of all answers to one report; those that come after count as too large.
        package var reportBytesMax: Int { 4 * answerBytesMax }
        /// The limit of nodes that one report asks.
        package var peersMax = 256

        package init() {}
    }

    /// Marks a request of another node, which gets the own part of the node that is asked. Its value is the asking
    /// node's id.
    static let header = "x-freshet-peer"
    /// The name of the person who asks, in the audit logs of the nodes that are asked.
    static let personHeader = "x-freshet-operator"
    /// The person on whose behalf the current task asks other nodes; nil: nobody gave a name.
    @TaskLocal static var person: String?
    /// The nodes asked at a time.
    private static let atOnce = 16

    private let own: NodeID
    private let nodes: @Sendable () async throws -> [NodeRecordPayload]
    private let sender: HTTPSender
    private let token: String?
    private let settings: Settings

    /// - Parameters:
    ///   - nodes: reads the cluster's list of nodes.
    ///   - token: the admin token; nil if the nodes have none.
    package init(
        own: NodeID, nodes: @escaping @Sendable () async throws -> [NodeRecordPayload], sender: HTTPSender,
        token: String?, settings: Settings = Settings()
    ) {
        self.own = own
        self.nodes = nodes
        self.sender = sender
        self.token = token
        self.settings = settings
    }

    /// Gathers the parts of a report.
    /// - Parameters:
    ///   - path: the report's path at other nodes.
    ///   - query: the query at other nodes.
    ///   - only: the node whose part is wanted; nil: every node's.
    ///   - body: of a POST, if the part is the answer to one; nil: it is read by GET.
    ///   - own: makes this node's part.
    /// - Throws: `.notFound` for a node that is not in the list; `.unavailable` if the list cannot be read; what `own`
    ///   throws.
    package func gather(
        _ path: String, query: [(name: String, value: String)], only: NodeID?, roles: Set<Role>,
        body: JSONObject? = nil, own part: @Sendable () async throws -> JSONValue
    ) async throws -> GatheredParts {
        let plan = try await plan(only: only, roles: roles)
        var gathered = GatheredParts(unreachable: plan.unreachable)
        let target = path + Self.query(query.filter { $0.name != "node" })
        let body = body.map { JSONValue.object($0).compactBytes }
        await withTaskGroup(of: Answer.self) { group in
            var waiting = plan.peers[...]
            func ask() {
                guard let peer = waiting.popFirst() else { return }
                group.addTask { await self.part(of: peer, target, body) }
            }
            for _ in 0..<Self.atOnce { ask() }
            var bytes = 0
            for await answer in group {
                switch answer {
                case .success(let sized) where bytes + sized.byteCount > settings.reportBytesMax:
                    let reason = "the report is larger than \(settings.reportBytesMax) bytes"
                    gathered.unreachable.append(UnreachableNode(node: sized.part.node, reason: reason))
                case .success(let sized):
                    bytes += sized.byteCount
                    gathered.parts.append(sized.part)
                case .failure(let error): gathered.unreachable.append(error.node)
                }
                ask()
            }
        }
        if plan.includesOwn { gathered.parts.append(ReportPart(node: own, json: try await part())) }
        return gathered
    }

    /// Performs an action at another node.
    /// - Parameters:
    ///   - operator: the person's name for that node's audit log.
    /// - Returns: the sentence that says what was done.
    /// - Throws: `.notFound` for a node that is not in the list; `.unavailable` if it does not answer; its own error.
    package func act(
        _ path: String, query: [(name: String, value: String)], at node: NodeID, operator: String
    ) async throws(RequestError) -> String {
        let plan = try await plan(only: node, roles: [])
        guard let peer = plan.peers.first else {
            throw RequestError(.unavailable, "node \"\(node)\": \(plan.unreachable.first?.reason ?? "not asked")")
        }
        var request = request(peer, path + Self.query(query.filter { $0.name != "node" }))
        request.body = Array("{}".utf8)
        request.headers.append((Self.personHeader, `operator`))
        switch await sender.send(request) {
        case .success(let response):
            let answer = try? JSONValue(parsing: response.body)
            if response.status == 200, let done = answer?["done"]?.stringValue { return done }
            let error = answer?["errors"]?[0]
            let code = error?["extensions"]?["code"]?.stringValue.flatMap(ErrorCode.init)
            throw RequestError(
                code ?? .unavailable,
                error?["message"]?.stringValue ?? "node \"\(node)\" answered status \(response.status)")
        case .failure(let failure):
            throw RequestError(.unavailable, "node \"\(node)\": \(reason(failure, peer))")
        }
    }

    private struct SizedPart {
        let part: ReportPart
        let byteCount: Int
    }

    private typealias Answer = Result<SizedPart, UnreachableError>

    private struct UnreachableError: Error {
        let node: UnreachableNode
    }

    /// Returns the nodes whose streams make one of the cluster.
    func streams(only: NodeID?) async throws(RequestError) -> PeerPlan { try await plan(only: only, roles: []) }

    /// Follows a stream of another node, until it ends or the task is cancelled.
    /// - Returns: why it ended.
    func follow(
        _ peer: PeerPlan.Peer, _ path: String, query: [(name: String, value: String)],
        _ onPart: (ByteBuffer) async throws -> Void
    ) async -> String {
        let request = request(peer, path + Self.query(query.filter { $0.name != "node" }))
        switch await sender.follow(request, onPart) {
        case .success(nil): return "its stream ended"
        case .success(let response?):
            let message = (try? JSONValue(parsing: response.body))?["errors"]?[0]?["message"]?.stringValue
            return "it answered status \(response.status)" + (message.map { ": \($0)" } ?? "")
        case .failure(let failure): return reason(failure, peer)
        }
    }

    private func plan(only: NodeID?, roles: Set<Role>) async throws(RequestError) -> PeerPlan {
        let listed: [NodeRecordPayload]
        do {
            listed = try await nodes()
        } catch {
            // The own part needs no list.
            if only != own { throw RequestError(.unavailable, "the list of nodes cannot be read: \(error)") }
            listed = []
        }
        return try PeerPlan(own: own, nodes: listed, only: only, roles: roles, peersMax: settings.peersMax)
    }

    private func request(_ peer: PeerPlan.Peer, _ target: String) -> HTTPSender.Request {
        var headers = [(name: Self.header, value: own.name)]
        if let token { headers.append(("authorization", "Bearer \(token)")) }
        if let person = Self.person { headers.append((Self.personHeader, person)) }
        return HTTPSender.Request(
            url: "http://\(peer.address)\(target)", headers: headers, timeoutMs: settings.timeoutMs,
            responseBytesMax: settings.answerBytesMax)
    }

    private func part(of peer: PeerPlan.Peer, _ target: String, _ body: [UInt8]?) async -> Answer {
        func unreachable(_ reason: String) -> Answer {
            .failure(UnreachableError(node: UnreachableNode(node: peer.node, reason: reason)))
        }
        var request = request(peer, target)
        if let body { request.body = body }
        switch await sender.send(request) {
        case .failure(let failure): return unreachable(reason(failure, peer))
        case .success(let response):
            let answer = try? JSONValue(parsing: response.body)
            guard response.status == 200, let answer else {
                let message = answer?["errors"]?[0]?["message"]?.stringValue
                return unreachable("it answered status \(response.status)" + (message.map { ": \($0)" } ?? ""))
            }
            guard let name = answer["node"]?.stringValue, name == peer.node.name else {
                // Nodes on several machines that list a loopback address.
                return unreachable("its admin address \(peer.address) leads to another node from here")
            }
            return .success(
                SizedPart(part: ReportPart(node: peer.node, json: answer), byteCount: response.body.count))
        }
    }

    private func reason(_ failure: HTTPSender.Failure, _ peer: PeerPlan.Peer) -> String {
        switch failure {
        case .timedOut: "it did not answer within \(settings.timeoutMs) ms"
        case .responseTooLarge: "its answer is larger than \(settings.answerBytesMax) bytes"
        case .unreachable(let cause): "\(peer.address) cannot be reached: \(cause)"
        case .broken(let cause): "the connection broke: \(cause)"
        case .stopped: "the asked node is stopping"
        }
    }

    private static func query(_ items: [(name: String, value: String)]) -> String {
        if items.isEmpty { return "" }
        return "?" + items.map { "\(percentEncoded($0.name))=\(percentEncoded($0.value))" }.joined(separator: "&")
    }

    /// Encodes all but the unreserved characters (RFC 3986 §2.3).
    static func percentEncoded(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF")
        return text.utf8.reduce(into: "") { encoded, byte in
            let character = Character(UnicodeScalar(byte))
            if byte < 0x80, character.isLetter || character.isNumber || "-._~".contains(character) {
                encoded.append(character)
            } else {
                encoded += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
    }
}
