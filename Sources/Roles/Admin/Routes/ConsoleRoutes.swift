import Gateway
import HTTPServer
import JSON
import LiveModel
import NIOHTTP1
import PublicAPI
import Sessions

/// Reports that the console's screens are made of.
extension AdminRoutes {
    static let console: [AdminRoute] = [
        .get(
            "/admin/v1/overview", [], "the state of the cluster in one sentence, and the problems, the worst first",
            example: """
                {"verdict": "All is well: 3 nodes, 64 shards, 12 sessions, 7 live queries.", "level": "ok", \
                "problems": [{"severity": "critical", "sentence": "worker-2 is not ready.", "screen": "home"}], \
                "nodes": [{"id": "worker-1"}], "statuses": [{"node": "worker-1"}], \
                "shards": {"count": 64, "attention": [{"shard": 3, "verdict": "starting"}], "behindMsMax": 0, \
                "streamLengthMax": 812, "keptForMsMax": 3600000}, "redis": [{"server": "redis://10.0.0.7:6379", \
                "usedBytes": 1048576, "maxBytes": null, "policy": "noeviction", "isLogged": true}], \
                "unreachable": []}
                """
        ) { services, _ in await services.overview() },
        AdminRoute(
            .GET, "/admin/v1/console", [],
            "the service, its connectors, operations with errors, why `freshet dev` did not reload the folder, and "
                + "the actions that the rules refuse the caller (`refused`, by path)",
            example: """
                {"node": "dev", "service": "auctions", "location": "local", "project": "9a41…", \
                "isDevelopment": true, "isOnPublicPort": true, "servesLiveQueries": true, \
                "connectors": ["auctions"], "notServed": [], "errors": [], "notReloaded": {"reason": null, \
                "errors": [{"file": "schema/schema.gql", "line": 3, "column": 5, \
                "message": "unknown type \\"Strin\\"", "text": "…"}]}, \
                "refused": {"/admin/v1/slot/drop": "admin.writeRule does not admit this user"}}
                """,
            .personal { services, _, refused in
                var console = services.inspector.console(isOnPublicPort: services.isOnPublicPort).objectValue ?? [:]
                console["refused"] = .object(refused)
                return .object(console)
            }),
        .get(
            "/admin/v1/schema", [], "the project's tables, and the generated schema as SDL",
            example: """
                {"node": "api-1", "project": "9a41…", "tables": [{"type": "Lot", "table": "lot", "isView": false, \
                "key": ["id"], "fields": [{"field": "id", "column": "id", "type": "UUID!"}], "references": [], \
                "indexes": [["category"]]}], "sdl": "type Query { … }"}
                """
        ) { services, _ in services.inspector.schema() },
        .get(
            "/admin/v1/operations", [], "the stored operations that the node serves, with variables and rules",
            example: """
                {"project": "9a41…", "operations": [{"operation": "auctions/GetLot", "connector": "auctions", \
                "name": "GetLot", "kind": "query", "auth": "PUBLIC", "isRefreshed": true, \
                "rules": ["implicit: key of lot"], \
                "variables": [{"name": "id", "type": "UUID!", "required": true}]}]}
                """
        ) { services, _ in services.inspector.operations() },
        .get(
            "/admin/v1/operations/{connector}/{operation}", [connector, operation],
            "an operation's SQL, rules, their indexes, and what refreshes it, as `freshet explain` has it",
            example: #"{"operation": "GetLot", "kind": "query", "rules": [], "sql": {"single": "SELECT …"}}"#
        ) { services, arguments in
            try services.inspector.explanation(
                of: OperationReference(
                    connector: arguments["connector"] ?? "", operation: arguments["operation"] ?? ""))
        },
        AdminRoute(
            .GET, "/admin/v1/follow/{connector}/{operation}",
            [
                connector, operation,
                .query("variables", .text(bytesMax: 64 << 10), "The variables as a JSON object.", standard: "{}"),
                .query("uid", .text(bytesMax: nameBytesMax), "Follows as this user."),
                .query("claims", .text(bytesMax: 16 << 10), "Further claims of the user's token, a JSON object."),
                .query("as", .choice(["signed-out"]), "Follows as a client without a token."),
            ],
            "follows a query as administrator, past `@auth`, or as a user; an event for each result",
            mediaType: "text/event-stream", isLook: true,
            .response { services, arguments, request, exchange in
                services.follow(arguments, request, exchange)
            }),
        .gathered(
            "/admin/v1/top", [node, limit(sessionsMax)],
            "costs by operation over the last minute and since the nodes' starts, the most time first; `statementMs` "
                + "is since the starts, `recentStatementMs` of the last five minutes",
            example: """
                {"isIdle": false, "operations": [{"operation": "auctions/GetLot", "share": 0.62, \
                "perMinute": {"requests": 12.0, "requestMs": 9.1, "runs": 240.0, "changed": 60.0, "databaseMs": 84.2, \
                "resultBytes": 31200.0, "deliveries": 600.0, "bytesOut": 312000.0}, "total": {"runs": 7210.0}, \
                "statementMs": {"p50": 1.2, "p95": 4.8, "p99": 13.5}, \
                "recentStatementMs": {"p50": 1.1, "p95": 60.2, "p99": 94.0}}], \
                "unreachable": []}
                """, GatheredReport(merge: MergedCosts.top) { services, _ in services.inspector.costs() }),
        .gathered(
            "/admin/v1/capacity",
            [node, .query("factor", .integer(1...1_000), "The multiple of the load.", standard: "10")],
            "unit costs of the busiest minute of the last hour, and what `factor` times that load would need; says "
                + "what is assumed",
            example: """
                {"factor": 10.0, "busiestMinuteMs": 1764239040000, "measured": {"sessions": 120.0, \
                "cpuMsPerDelivery": 0.4, "databaseMsPerRun": 1.2, "connectionsBusy": 0.09, "connections": 12.0, \
                "databaseShare": 0.008}, "needed": {"sessions": 1200.0, "connectionsBusy": 0.9, \
                "databaseShare": 0.075, "nodes": 2.0}, \
                "nodes": [{"node": "gateway-1", "cores": 2.0, "coresBusy": 0.1, "nodesNeeded": 1.0}], \
                "assumptions": ["…"], "unreachable": []}
                """, GatheredReport(merge: CapacityPlan.report) { services, _ in services.inspector.load() }),
    ]
}

extension AdminServices {
    /// Gathers what the overview needs; what cannot be read is a problem of its own.
    func overview() async -> JSONValue {
        var facts = ClusterOverview.Facts()
        do {
            let gathered = try await peers.gather("/admin/v1/status", query: [], only: nil, roles: []) {
                await inspector.status()
            }
            let report = GatheredReport(merge: { parts, _ in ["nodes": .array(parts.map(\.json))] }) { _, _ in .null }
            facts.status = report.json(gathered, askedOf: inspector.nodeID, AdminArguments())
            facts.nodes = try await inspector.nodes()["nodes"]?.arrayValue ?? []
            facts.shards = try await inspector.shards()["shards"]?.arrayValue ?? []
            facts.redis = try await inspector.redisMemory().arrayValue ?? []
        } catch {
            facts.failure = "\((error as? RequestError)?.message ?? "\(error)")"
            facts.status = ["nodes": .array([await inspector.status()]), "unreachable": []]
        }
        var object = ClusterOverview(facts).json
        object["node"] = .string(inspector.nodeID.name)
        object["nodes"] = .array(facts.nodes)
        object["statuses"] = facts.status["nodes"] ?? .array([])
        let late = Dictionary(
            ClusterOverview.lateShards(facts.status["nodes"]?.arrayValue ?? []).map { ($0.shard, $0.undeliveredMs) },
            uniquingKeysWith: max)
        object["shards"] = [
            "count": .int(Int64(facts.shards.count)),
            "attention": .array(facts.shards.compactMap { Self.attention($0, late) }),
            "behindMsMax": .int(facts.shards.reduce(0) { max($0, $1["behindMs"]?.intValue ?? 0) }),
            "liveQueries": .int(facts.shards.reduce(0) { $0 + ($1["liveQueries"]?.intValue ?? 0) }),
            "streamLengthMax": .int(facts.shards.reduce(0) { max($0, $1["streamLength"]?.intValue ?? 0) }),
            "keptForMsMax": .int(facts.shards.reduce(0) { max($0, $1["keptForMs"]?.intValue ?? 0) }),
        ]
        object["redis"] = .array(facts.redis)
        object["unreachable"] = facts.status["unreachable"] ?? .array([])
        return .object(object)
    }

    /// Returns a shard with the age of its oldest missing marker, if that is late; nil if it needs no attention.
    private static func attention(_ shard: JSONValue, _ late: [Int64: Int64]) -> JSONValue? {
        let lateMs = late[shard["shard"]?.intValue ?? 0]
        guard lateMs != nil || shard["verdict"] != "ok", var row = shard.objectValue else { return nil }
        row["undeliveredMs"] = lateMs.map { .int($0) } ?? .null
        if lateMs != nil, row["verdict"] == "ok" { row["verdict"] = "markers do not arrive" }
        return .object(row)
    }

    func follow(_ arguments: AdminArguments, _ request: HTTPRequest, _ exchange: HTTPExchange) {
        do throws(RequestError) {
            guard let following else { throw RequestError.servesNoLiveQueriesHere }
            func object(_ name: String) throws(RequestError) -> JSONObject {
                guard let text = arguments[name] else { return JSONObject() }
                guard let object = (try? JSONValue(parsing: Array(text.utf8)))?.objectValue else {
                    throw RequestError(.badRequest, "\(name) must be a JSON object")
                }
                return object
            }
            var claims = try object("claims")
            let sender: LiveQueryFollower.Sender
            if let uid = arguments["uid"] ?? claims["sub"]?.stringValue {
                if claims["sub"] == nil { claims["sub"] = .string(uid) }
                sender = .user(Auth(uid: uid, token: claims))
            } else if arguments["as"] == "signed-out" {
                sender = .signedOut
            } else {
                sender = .administrator
            }
            try following.follow(
                OperationRequest(
                    connector: arguments["connector"], operationName: arguments["operation"],
                    variables: try object("variables")),
                as: sender, request, exchange)
        } catch {
            exchange.respond(
                HTTPResponseStatus(statusCode: error.code.httpStatus), headers: ["content-type": "application/json"],
                body: ResultEnvelope.errors([error]))
        }
    }
}

extension RequestError {
    fileprivate static let servesNoLiveQueriesHere = RequestError(
        .badRequest, "this node serves no live queries; ask a node with the roles gateway and admin")
}
