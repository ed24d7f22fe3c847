package import HTTPServer
package import JSON
package import LiveModel
package import NIOHTTP1
package import PublicAPI

/// A route of the admin API. `AdminRoutes.all` is the table that `AdminEndpoint` dispatches by, and from which the
/// OpenAPI document and the tables of docs/reference/admin-api.md are made.
package struct AdminRoute: Sendable {
    package typealias Report = @Sendable (AdminServices, AdminArguments) async throws -> JSONValue

    package enum Work: Sendable {
        /// Responds with JSON about the node or, from what Redis and Postgres know, the cluster.
        case report(Report)
        /// Responds with JSON that depends on the caller: the actions that rules refuse it, by path with the reason.
        case personal(@Sendable (AdminServices, AdminArguments, JSONObject) async throws -> JSONValue)
        /// Responds with JSON put together from the parts of several nodes.
        case gathered(GatheredReport)
        /// Performs an action and writes a line to the audit log. With a query parameter `node`, that node performs it.
        case action(@Sendable (AdminArguments) throws(RequestError) -> NodeOperator.Action)
        /// Responds in another form than JSON, or over time.
        case response(@Sendable (AdminServices, AdminArguments, HTTPRequest, HTTPExchange) -> Void)
    }

    package let method: HTTPMethod
    /// The path, with parameters in braces: `/admin/v1/shards/{shard}/move`.
    package let path: String
    /// A path that clients of former versions use; nil if there is none. It ignores query items that it does not know,
    /// and a gathered report there has the node's own part only.
    package let former: String?
    /// Whether the route needs no token.
    package let isOpen: Bool
    package let parameters: [AdminParameter]
    /// Half a sentence for the tables of the documentation.
    package let about: String
    /// A response, or part of one, as JSON; nil for another form.
    package let example: JSONValue?
    /// The media type of the response.
    package let mediaType: String
    /// Whether it shows data of users, so that each request leaves a line in the audit log.
    package let isLook: Bool
    /// Whether a POST takes its parameters from a JSON body, too: a request target may have 8 KiB only.
    package let takesBody: Bool
    /// Whether a POST changes nothing, so that readers may send it.
    package let isRead: Bool
    package let work: Work

    /// - Parameter example: JSON text; traps if it is none, since it stands in the source.
    init(
        _ method: HTTPMethod, _ path: String, former: String? = nil, isOpen: Bool = false,
        _ parameters: [AdminParameter], _ about: String, example: String? = nil,
        mediaType: String = "application/json", isLook: Bool = false, takesBody: Bool = false, isRead: Bool = false,
        _ work: Work
    ) {
        self.isLook = isLook
        self.takesBody = takesBody
        self.isRead = isRead
        self.method = method
        self.path = path
        self.former = former
        self.isOpen = isOpen
        self.parameters = parameters
        self.about = about
        self.example = example.map { text in
            do {
                return try JSONValue(parsing: Array(text.utf8))
            } catch {
                preconditionFailure("the example of \(path) is no JSON: \(error)")
            }
        }
        self.mediaType = mediaType
        self.work = work
    }

    /// Whether it is a report of the API in JSON, which can be followed as an event stream, too.
    package var isReport: Bool {
        if method != .GET || isOpen { return false }
        switch work {
        case .report, .personal, .gathered: return true
        case .action, .response: return false
        }
    }

    static func get(
        _ path: String, former: String? = nil, _ parameters: [AdminParameter], _ about: String,
        example: String, _ report: @escaping Report
    ) -> AdminRoute {
        AdminRoute(.GET, path, former: former, parameters, about, example: example, .report(report))
    }

    static func post(
        _ path: String, former: String? = nil, _ parameters: [AdminParameter], _ about: String,
        _ action: @escaping @Sendable (AdminArguments) throws(RequestError) -> NodeOperator.Action
    ) -> AdminRoute {
        AdminRoute(
            .POST, path, former: former, parameters, about, example: #"{"done": "a sentence"}"#, .action(action))
    }

    /// Returns the values of the path's parameters; nil if the path is not that of the template.
    static func match(_ template: String, _ path: String) -> [String: String]? {
        let (names, parts) = (template.split(separator: "/"), path.split(separator: "/"))
        guard names.count == parts.count else { return nil }
        var values: [String: String] = [:]
        for (name, part) in zip(names, parts) {
            if name.hasPrefix("{") {
                values[String(name.dropFirst().dropLast())] = String(part)
            } else if name != part {
                return nil
            }
        }
        return values
    }
}

/// The parts of a node that routes answer from.
package struct AdminServices: Sendable {
    package let inspector: NodeInspector
    package let `operator`: NodeOperator
    package let peers: PeerReports
    package let why: WhyService
    /// Follows queries for administrators; nil on a node without the role gateway.
    package let following: LiveQueryFollower?
    /// Trials of rules, which take the memory and time of one at most.
    let trials = OneAtATime()
    /// Whether clients of the public port reach it under the same origin, as under `freshet dev`.
    package var isOnPublicPort = false

    package init(
        inspector: NodeInspector, operator: NodeOperator, peers: PeerReports, why: WhyService,
        following: LiveQueryFollower? = nil
    ) {
        self.why = why
        self.following = following
        self.inspector = inspector
        self.operator = `operator`
        self.peers = peers
    }
}
