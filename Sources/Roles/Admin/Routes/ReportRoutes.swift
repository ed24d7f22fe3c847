import HTTPServer
import JSON
import LiveModel
import NIOHTTP1
import Observability

/// Reports for operators.
///
/// Long, because each row of the table has its response beside it.
extension AdminRoutes {
    static let probes: [AdminRoute] = [
        AdminRoute(
            .GET, "/healthz", isOpen: true, [], "the process", example: #"{"status": "ok"}"#,
            .report { _, _ in ["status": "ok"] }),
        AdminRoute(
            .GET, "/readyz", isOpen: true, [],
            "[readiness](../operations/readiness.md); 503 with `\"status\":\"not ready\"` and `reason`",
            example: #"{"status": "ready", "redis": {"connected": true, "servers": ["redis://10.0.0.7:6379"]}}"#,
            .response { services, _, _, exchange in
                let (inspector, readiness) = (services.inspector, services.inspector.readiness)
                var body: JSONObject = ["status": readiness.isReady ? "ready" : "not ready"]
                if !readiness.isReady { body["reason"] = readiness.problem.map { .string($0) } ?? .null }
                body["redis"] = inspector.redisSummary
                exchange.respond(
                    readiness.isReady ? .ok : .serviceUnavailable, headers: ["content-type": "application/json"],
                    body: JSONValue.object(body).compactBytes)
            }),
        AdminRoute(
            .GET, "/metrics", [], "the node's [metrics](../operations/metrics.md) for Prometheus",
            mediaType: PrometheusMetrics.contentType,
            .response { services, _, _, exchange in
                exchange.respond(
                    .ok, headers: ["content-type": PrometheusMetrics.contentType],
                    body: services.inspector.renderMetrics())
            }),
    ]

    /// The rows that one response lists.
    package static let liveQueriesMax = 10_000
    package static let sessionsMax = 10_000

    static func limit(_ most: Int) -> AdminParameter {
        .query("limit", .integer(0...Int64(most)), "The most rows to list.", standard: "100")
    }

    static let node = AdminParameter.query(
        "node", .text(bytesMax: nameBytesMax), "Only what this node has; without it, what all nodes have.")
    static let operationFilter = AdminParameter.query(
        "operation", .text(bytesMax: 2 * nameBytesMax), "Only this operation, CONNECTOR/OPERATION.")

    static let reports: [AdminRoute] = [
        .get(
            "/admin/v1/openapi.json", [], "this API as an OpenAPI 3.1 document",
            example: #"{"openapi": "3.1.0", "paths": {}}"#
        ) { _, _ in OpenAPIDocument.json(of: all) },
        .gathered(
            "/admin/v1/status", former: "/admin/status", [node],
            "the nodes: roles, readiness, versions served, sessions, work in hand, [lag](../operations/lag.md), "
                + "replicas, Redis, outbox",
            example: """
                {"nodes": [{"node": "worker-1", "roles": ["worker", "admin"], "ready": true, "sessions": 0, \
                "worker": {"runsInFlight": 0, "due": 0, "liveQueries": 7, "failing": 0, "lastFailure": null}, \
                "replicas": [{"address": "10.0.0.9:5432", "state": "behind", "isUsed": false, "lagBytes": 81920, \
                "lagMs": 4200}], "outbox": {"rows": 0}}], "unreachable": []}
                """,
            GatheredReport(merge: { parts, _ in ["nodes": .array(parts.map(\.json))] }) { services, _ in
                await services.inspector.status()
            }),
        .get(
            "/admin/v1/nodes", former: "/admin/nodes", [], "the nodes in the cluster's list",
            example: """
                {"nodes": [{"id": "worker-1", "roles": ["worker", "admin"], "address": "10.0.0.3:9399", \
                "adminAddress": "10.0.0.3:9398", "draining": false, "sessions": 0, "upMs": 81000, \
                "expiresInMs": 5200}]}
                """
        ) { services, _ in try await services.inspector.nodes() },
        .get(
            "/admin/v1/shards", former: "/admin/shards", [],
            "the cluster's shards; a shard needs attention unless its `verdict` is `ok`",
            example: """
                {"node": "worker-1", "shards": [{"shard": 0, "owner": "worker-1", "wanted": "worker-1", \
                "verdict": "ok", "unfollowed": false, "behindMs": 0, "epoch": 1764239000123}]}
                """
        ) { services, _ in try await services.inspector.shards() },
        .get(
            "/admin/v1/overrides", former: "/admin/overrides", [],
            "the cluster's [overrides](../operations/overrides.md)",
            example: """
                {"generation": "3", "overrides": [{"override": "splits", "target": "auctions/GetLot", "value": 4, \
                "shards": [5, 21, 37, 53], "receiving": 4}]}
                """
        ) { services, _ in try await services.inspector.overrides() },
        .get(
            "/admin/orders", [], "the overrides under their former names; deprecated",
            example: #"{"generation": "3", "orders": []}"#
        ) { services, _ in try await services.inspector.formerOverrides() },
        .get(
            "/admin/v1/slot", former: "/admin/slot", [],
            "the [replication slot](cli.md#freshet-admin-slot) and the publications as the database has them now",
            example: """
                {"node": "worker-1", "tailer": "reading", "slot": {"name": "freshet_app1_freshet", "exists": true, \
                "health": "ok", "activePid": 4711, "silentMs": 120, "retainedBytes": 4096, "safeBytes": null, \
                "confirmed": "0/1A2B3C8"}, "obstacle": null, \
                "publications": [{"name": "freshet_changes", "tables": ["bid", "lot"]}], "unpublished": []}
                """
        ) { services, _ in try await services.inspector.slot() },
        .gathered(
            "/admin/v1/rules", former: "/admin/rules", [node],
            "what each refresh rule caused since the workers' starts, also those that never fired, and which changes "
                + "none noticed; a run that several rules caused counts for each",
            example: """
                {"countedForMs": 81000, "rules": [{"operation": "auctions/ListLots", \
                "rule": "onMutationExecuted EditLot", "kind": "trigger", "fired": 97, "changed": 7, "wasted": 90, \
                "wastedShare": 0.928, "databaseMs": 61.2}], \
                "operations": [{"operation": "auctions/ListLots", "ruleChanged": 7, "ruleUnchanged": 90, \
                "unnoticed": 3, "checked": 2, "stale": 1, "unnoticedMutations": [{"mutation": "auctions/EditLot", \
                "count": 3, "rule": "@refresh(…)"}]}], "unreachable": []}
                """,
            GatheredReport(roles: [.worker], merge: { parts, _ in MergedReports.rules(parts) }) { services, _ in
                await services.inspector.ruleEffects()
            }),
        .gathered(
            "/admin/v1/live-queries", former: "/admin/live-queries",
            [
                node, limit(liveQueriesMax), operationFilter,
                .query("user", .text(bytesMax: nameBytesMax), "Only live queries that sessions of this user follow."),
                .query("key", .text(bytesMax: 64), "Only live queries whose key begins with these digits."),
            ],
            "live queries that workers own, by operation and key; `matching` of `count` pass the filters, and any of "
                + "them are listed if they are more than `limit`",
            example: """
                {"count": 1, "matching": 1, "liveQueries": [{"node": "worker-1", "key": "0f5c…", \
                "operation": "auctions/GetLot", \
                "shard": 5, "gateways": ["gateway-1"], "lastRunMs": 2, "runs": 7, "failures": 0}], "unreachable": []}
                """, isLook: true,
            GatheredReport(
                rolesBy: { $0["user"] == nil ? [.worker] : [.worker, .gateway] }, merge: MergedReports.liveQueries,
                further: { try await $0.followedLiveQueries($1, $2) }
            ) { services, arguments in
                await services.inspector.liveQueries(
                    limit: arguments.integer("limit") ?? 0,
                    operation: try arguments.operation(), keyPrefix: arguments["key"]?.lowercased(),
                    user: arguments["user"])
            }),
        .gathered(
            "/admin/v1/sessions", former: "/admin/sessions",
            [
                node, limit(sessionsMax), operationFilter,
                .query("user", .text(bytesMax: nameBytesMax), "Only sessions of this user."),
                .query("protocol", .text(bytesMax: nameBytesMax), "Only sessions of this protocol."),
                .query("client", .text(bytesMax: nameBytesMax), "Only sessions whose client contains this text."),
            ], "sessions, the oldest first; `matching` of `count` pass the filters",
            example: """
                {"count": 2, "matching": 1, "sessions": [{"node": "gateway-1", "id": 17, "peer": "10.0.0.9:50412", \
                "protocol": "graphql-transport-ws", "user": "ann", "client": "gl-js/ fire/11.3.1", "subscriptions": 2, \
                "operations": ["auctions/GetLot"], "sinceMs": 64000, "project": "9a41…"}], "unreachable": []}
                """, isLook: true,
            GatheredReport(merge: MergedReports.sessions) { services, arguments in
                await services.inspector.sessions(
                    limit: arguments.integer("limit") ?? 0, try SessionFilter(arguments))
            }),
        .gathered(
            "/admin/v1/adoption", [node, limit(NodeInspector.adoptionMax)],
            "sessions by client, by the project's version that they began with, and by the version of each operation "
                + "that they follow, the most first",
            example: """
                {"count": 12, "clients": [{"client": "gl-js/ fire/11.3.1", "sessions": 9}], \
                "versions": [{"version": "9a41…", "isCurrent": true, "sessions": 12}], \
                "operations": [{"operation": "auctions/GetLot", "version": "c07e…", "isCurrent": false, \
                "sessions": 2}], "unreachable": []}
                """,
            GatheredReport(merge: MergedAdoption.merged) { services, _ in await services.inspector.adoption() }),
        .get(
            "/admin/v1/deployments", [],
            "the versions of the project, the newest first: since when, the nodes and sessions of each, what each "
                + "changed and what of it breaks clients; and what a rollback would do",
            example: """
                {"deployments": [{"deployment": 7, "version": "9a41…", "origin": "deploy", "by": "ann", \
                "createdAtMs": 1764239000123, "activeAtMs": 1764239004321, "standing": "current", "former": "51c0…", \
                "changes": {"added": [], "removed": ["auctions/OldLots"], "changed": ["auctions/GetLot"], \
                "breaking": 1, "findings": [{"severity": "error", "rule": "operation-removed", \
                "message": "query \\"auctions/OldLots\\" is gone", "help": null}]}, "nodes": ["gateway-1"], \
                "isCurrent": true, "sessions": 12}], "rollback": {"deployment": 6, "version": "51c0…", \
                "command": "freshet deploy --rollback", "changes": null}, "problems": [], "unreachable": []}
                """
        ) { services, _ in try await services.deployments() },
        AdminRoute(
            .GET, "/admin/v1/revocations", former: "/admin/revocations", [limit(sessionsMax)],
            "the cluster's revocations, the latest first",
            example: """
                {"count": 1, "revocations": [{"subject": "uid:ann", "atMs": 1764239000123, "expiresInMs": 3600000, \
                "tokens": "all"}]}
                """, isLook: true,
            .report { services, arguments in
                try await services.inspector.revocationRows(limit: arguments.integer("limit") ?? 0)
            }),
    ]
}

extension AdminRoute {
    static func gathered(
        _ path: String, former: String? = nil, _ parameters: [AdminParameter], _ about: String, example: String,
        isLook: Bool = false, _ report: GatheredReport
    ) -> AdminRoute {
        AdminRoute(.GET, path, former: former, parameters, about, example: example, isLook: isLook, .gathered(report))
    }
}
