import HTTPServer
import Inspection
import JSON
import LiveModel
import NIOHTTP1
import Recording

/// Why, traces, tails, and what arms the recording.
extension AdminRoutes {
    private static let key = AdminParameter.query(
        "key", .text(bytesMax: 64), "The key of a live query, 64 hexadecimal digits.")
    private static let trace = AdminParameter.path("trace", .text(bytesMax: 64), "The trace's id.")
    private static let traceLimit = AdminParameter.query(
        "limit", .integer(1...1_000), "The most rows to list.", standard: "50")
    private static let textBytesMax = 64 << 10
    private static let recordingExample = """
        {"isArmed": true, "untilMs": 1764239600123, "traceRate": 1.0, "queries": 1, "spans": 120, \
        "nodes": [{"node": "worker-1", "isArmed": true, "untilMs": 1764239600123, "queries": 1, "spans": 120}], \
        "unreachable": []}
        """

    private static let whyParameters: [AdminParameter] = [
        key,
        .query(
            "operation", .text(bytesMax: 2 * nameBytesMax),
            "CONNECTOR/OPERATION, or OPERATION where that is unique; of a session, picks one of its queries."),
        .query("variables", .text(bytesMax: textBytesMax), "The variables as a JSON object."),
        .query("uid", .text(bytesMax: nameBytesMax), "The user."),
        .query("claims", .text(bytesMax: textBytesMax), "The claims of the user's token as a JSON object."),
        .query("session", .text(bytesMax: 2 * nameBytesMax), "A session, NODE/ID."),
        .query(
            "truth", .choice(["yes", "no"]), "Whether the query is run, to compare the result.",
            standard: "yes"),
        .query(
            "arm", .choice(["yes", "no"]), "Whether the live query is recorded from now on, where nodes know it.",
            standard: "yes"),
    ]
    private static let whyExample = """
        {"verdict": {"code": "condition_false", "state": "stale", "isStale": true, \
        "sentence": "The screen is stale: auctions/EditLot ran 4.2 s ago, and …", \
        "next": ["Change the rule's condition, or remove it."]}, \
        "query": {"key": "9f…", "operation": "auctions/GetLot"}, "truth": {"state": "differs"}, \
        "registered": {"node": "worker-1", "shard": 3}, "events": [], "runs": [], "gateways": []}
        """

    static let inspection: [AdminRoute] = [
        .look(
            "/admin/v1/why", whyParameters,
            "[why a screen is stale](../operations/why-stale.md): a verdict, and the facts that it follows from",
            example: whyExample
        ) { services, arguments in try await services.why.why(try WhyQuestion(arguments)) },
        AdminRoute(
            .POST, "/admin/v1/why", whyParameters,
            "the same as GET, for a question that is longer than a request target may be", example: whyExample,
            isLook: true, takesBody: true, isRead: true,
            .report { services, arguments in try await services.why.why(try WhyQuestion(arguments)) }),
        .look(
            "/admin/v1/trace/{trace}", [trace], "the way of one traced mutation to its deliveries",
            example: """
                {"trace": "4bf9…", "mutation": "auctions/PlaceBid", "committedAtMs": 1764239000123, \
                "sentence": "auctions/PlaceBid reached 2 sessions 6.3 ms after its commit: …", \
                "spans": [{"kind": "committed", "node": "api-1", "ms": 0}], "unreachable": []}
                """
        ) { services, arguments in try await services.why.trace(arguments["trace"] ?? "") },
        .look(
            "/admin/v1/traces", [traceLimit], "the traces that nodes still have, the newest first",
            example: """
                {"traces": [{"trace": "4bf9…", "mutation": "auctions/PlaceBid", "committedAtMs": 1764239000123, \
                "spans": 7}], "unreachable": []}
                """
        ) { services, arguments in try await services.why.traces(limit: arguments.integer("limit") ?? 0) },
        AdminRoute(
            .GET, "/admin/v1/tail",
            [
                .query("operation", .text(bytesMax: 2 * nameBytesMax), "Only this operation."),
                .query(
                    "kind", .text(bytesMax: 100),
                    "Only these kinds, separated by commas: event, run, delivery, session."),
                .query("uid", .text(bytesMax: nameBytesMax), "Only mutations and sessions of this user."),
                node,
            ],
            "the events, runs and deliveries of all nodes as they come, as server-sent events; `node` events tell of "
                + "nodes that join, are lost, or go away",
            mediaType: "text/event-stream", isLook: true,
            .response { services, arguments, request, exchange in
                guard
                    let filter = TailFilter(
                        operation: arguments["operation"], kinds: arguments["kind"], uid: arguments["uid"])
                else {
                    return exchange.fail(
                        RequestError(.badRequest, "kind must name event, run, delivery and session only"))
                }
                do throws(RequestError) {
                    try services.openTail(
                        filter, arguments, isOfPeer: request.header(PeerReports.header) != nil, exchange)
                } catch {
                    exchange.fail(error)
                }
            }),
        .gathered(
            "/admin/v1/recording", [node],
            "what the nodes record for why, traces and tails: the sums, and each node's own",
            example: recordingExample,
            GatheredReport(merge: { parts, _ in MergedReports.recording(parts) }) { services, _ in
                services.why.node.recording()
            }),
        AdminRoute(
            .POST, "/admin/v1/recording",
            [
                node,
                .query(
                    "forMs", .integer(1...86_400_000), "How long mutations are traced, in milliseconds.",
                    standard: "600000"),
                .query(
                    "tracePercent", .integer(0...100), "The share of mutations that are traced.", standard: "100"),
            ], "all nodes trace a share of their mutations for a time", example: recordingExample,
            .gathered(
                GatheredReport(merge: { parts, arguments in
                    MergedReports.recording(
                        parts, verb: "trace",
                        "\(arguments.integer("tracePercent") ?? 0) % of the mutations for "
                            + "\((arguments.integer("forMs") ?? 0) / 1_000) s")
                }) { services, arguments in
                    _ = try await services.operator.perform(
                        .record(
                            forMs: arguments.integer("forMs") ?? 0,
                            tracePercent: arguments.integer("tracePercent") ?? 0))
                    return services.why.node.recording()
                })),
        AdminRoute(
            .POST, "/admin/v1/recording/stop", [node], "all nodes record nothing any more, but for open tails",
            example: recordingExample,
            .gathered(
                GatheredReport(merge: { parts, _ in
                    MergedReports.recording(parts, verb: "record", "nothing any more, but for open tails")
                }) { services, _ in
                    _ = try await services.operator.perform(.stopRecording)
                    return services.why.node.recording()
                })),
        .look(
            "/admin/v1/node/query",
            [key, .query("arm", .choice(["yes", "no"]), "Whether it is recorded.", standard: "yes")],
            "this node's part of why", example: #"{"node": "worker-1", "events": [], "runs": [], "ended": []}"#
        ) { services, arguments in
            await services.why.node.query(try key(arguments), arms: arguments["arm"] != "no")
        },
        AdminRoute(
            .POST, "/admin/v1/node/live-queries",
            [
                .query(
                    "keys", .text(bytesMax: 1 << 20), "The keys of live queries, a JSON array.", isRequired: true),
                .query("user", .text(bytesMax: nameBytesMax), "The user whose sessions follow them."),
            ],
            "this node's part of the live queries of a user, by their keys",
            example: #"{"node": "worker-1", "liveQueries": [{"key": "0f5c…", "operation": "auctions/GetLot"}]}"#,
            isLook: true, takesBody: true, isRead: true,
            .report { services, arguments in await services.inspector.liveQueries(try keys(arguments)) }),
        .look(
            "/admin/v1/node/truth", [key], "what the database answers to a live query that this node knows",
            example: #"{"node": "worker-1", "state": "answered", "digest": "77…", "ms": 3.1}"#
        ) { services, arguments in await services.why.node.truth(try key(arguments)) },
        .look(
            "/admin/v1/node/session/{session}",
            [.path("session", .integer(0...Int64.max), "The session's number.")],
            "the live queries of one of the node's sessions",
            example: #"{"node": "gateway-1", "isKnown": true, "subscriptions": [{"operation": "auctions/GetLot"}]}"#
        ) { services, arguments in await services.why.node.session(arguments.integer("session") ?? 0) },
        .look(
            "/admin/v1/node/trace/{trace}", [trace], "this node's part of a trace",
            example: #"{"node": "worker-1", "spans": [{"trace": "4bf9…", "kind": "ran", "atUs": 1764239000123456}]}"#
        ) { services, arguments in services.why.node.spans(of: arguments["trace"] ?? "") },
        .look(
            "/admin/v1/node/traces", [traceLimit], "the traces that began on this node",
            example: #"{"node": "api-1", "traces": [{"trace": "4bf9…"}]}"#
        ) { services, arguments in services.why.node.traces(limit: arguments.integer("limit") ?? 0) },
    ]

    private static func key(_ arguments: AdminArguments) throws(RequestError) -> LiveQueryKey {
        guard let digest = arguments["key"].flatMap({ Digest(hex: $0) }) else {
            throw RequestError(.badRequest, "key must be 64 hexadecimal digits")
        }
        return LiveQueryKey(digest: digest)
    }

    private static func keys(_ arguments: AdminArguments) throws(RequestError) -> Set<LiveQueryKey> {
        let keys = (try? JSONValue(parsing: Array((arguments["keys"] ?? "").utf8)))?.arrayValue
        let digests = keys?.compactMap { $0.stringValue.flatMap { Digest(hex: $0) } }
        guard let digests, digests.count == keys?.count, digests.count <= liveQueriesMax else {
            throw RequestError(
                .badRequest, "keys must be an array of at most \(liveQueriesMax) texts of 64 hexadecimal digits")
        }
        return Set(digests.map(LiveQueryKey.init(digest:)))
    }
}

extension AdminRoute {
    /// A report that shows data of users.
    fileprivate static func look(
        _ path: String, _ parameters: [AdminParameter], _ about: String, example: String, _ report: @escaping Report
    ) -> AdminRoute {
        AdminRoute(.GET, path, parameters, about, example: example, isLook: true, .report(report))
    }
}

extension AdminServices {
    /// Gathers from workers those live queries that gateways have named: the workers do not know users.
    func followedLiveQueries(_ parts: [ReportPart], _ arguments: AdminArguments) async throws -> GatheredParts {
        // As many as the report can list.
        let names = MergedReports.followed(parts, arguments).keys.sorted().prefix(AdminRoutes.liveQueriesMax)
        guard let user = arguments["user"], !names.isEmpty else { return GatheredParts() }
        let keys = Set(names.compactMap { Digest(hex: $0).map(LiveQueryKey.init(digest:)) })
        return try await peers.gather(
            "/admin/v1/node/live-queries", query: [], only: arguments["node"].map { NodeID($0) }, roles: [.worker],
            body: ["keys": .array(names.map { .string($0) }), "user": .string(user)]
        ) { await inspector.liveQueries(keys) }
    }

    /// - Parameter isOfPeer: whether another node asks, for its own tail of the cluster.
    fileprivate func openTail(
        _ filter: TailFilter, _ arguments: AdminArguments, isOfPeer: Bool, _ exchange: HTTPExchange
    ) throws(RequestError) {
        let recorder = why.node.parts.components.recorder
        let only = arguments["node"].map { NodeID($0) }
        if isOfPeer || only == recorder.node { return try TailStream.open(filter, recorder, exchange) }
        let cluster = ClusterTail(peers: peers, query: arguments.query, only: only)
        let person = PeerReports.person
        try TailStream.open(filter, recorder, isOwnWanted: only == nil, exchange) { stream in
            await PeerReports.$person.withValue(person) { await cluster.run(into: stream) }
        }
    }
}
