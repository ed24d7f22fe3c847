import LiveModel

/// Changes by operators. Each leaves a line in the audit log.
extension AdminRoutes {
    /// The longest time for which an override or revocation can be set: one year.
    static let overrideMsMax: Int64 = 365 * 24 * 3_600_000

    static let nameBytesMax = 200
    static let connector = AdminParameter.path(
        "connector", .text(bytesMax: nameBytesMax), "The connector's id.")
    static let operation = AdminParameter.path(
        "operation", .text(bytesMax: nameBytesMax), "The operation's name.")
    private static let shard = AdminParameter.path("shard", .integer(0...Int64(Int32.max)), "The shard's number.")
    private static let name = AdminParameter.path("name", .text(bytesMax: nameBytesMax), "The node's id.")
    private static let forMs = AdminParameter.query(
        "forMs", .integer(1...overrideMsMax), "How long it stays, in milliseconds; without it until it is cleared.")
    private static let subject = ["uid", "jti", "key"].map { kind in
        AdminParameter.query(
            kind, .text(bytesMax: RevocationSubject.bytesMax),
            kind == "uid" ? "A user's id." : kind == "jti" ? "A token's id." : "An API key's name.")
    }

    static let actions: [AdminRoute] = [
        .post(
            "/admin/v1/operations/{connector}/{operation}/splits",
            former: "/admin/operations/{connector}/{operation}/splits",
            [
                connector, operation,
                .query("count", .integer(1...Int64(Int32.max)), "The number of shards.", isRequired: true),
            ], "divides an operation's live queries over `count` shards"
        ) { arguments throws(RequestError) in
            .splits(
                OperationReference(
                    connector: arguments["connector"] ?? "", operation: arguments["operation"] ?? ""),
                count: arguments.integer("count") ?? 0)
        },
        .post(
            "/admin/v1/shards/{shard}/move", former: "/admin/shards/{shard}/move",
            [shard, .query("to", .text(bytesMax: nameBytesMax), "The worker's id.", isRequired: true), forMs],
            "gives a shard to a worker"
        ) { arguments throws(RequestError) in
            .move(
                ShardID(arguments.integer("shard") ?? 0), to: NodeID(arguments["to"] ?? ""),
                forMs: arguments.integer("forMs"))
        },
        .post(
            "/admin/v1/shards/{shard}/clear-move", former: "/admin/shards/{shard}/clear-move", [shard],
            "ends the move"
        ) { arguments throws(RequestError) in .clearMove(ShardID(arguments.integer("shard") ?? 0)) },
        .post(
            "/admin/v1/nodes/{name}/drain", former: "/admin/nodes/{name}/drain", [name],
            "the node gives up shards and sessions"
        ) { arguments throws(RequestError) in .drain(NodeID(arguments["name"] ?? "")) },
        .post(
            "/admin/v1/nodes/{name}/undrain", former: "/admin/nodes/{name}/undrain", [name],
            "the node accepts them again"
        ) { arguments throws(RequestError) in .undrain(NodeID(arguments["name"] ?? "")) },
        .post(
            "/admin/v1/sessions/{session}/end", former: "/admin/sessions/{session}/end",
            [
                .path("session", .integer(0...Int64.max), "The session's number on its node."),
                .query(
                    "node", .text(bytesMax: nameBytesMax), "The node that has it; without it the one that is asked."),
            ], "asks a session to reconnect (1001)"
        ) { arguments throws(RequestError) in .endSession(arguments.integer("session") ?? 0) },
        .post(
            "/admin/v1/revocations", former: "/admin/revocations",
            subject + [
                forMs, .query("later", .choice(["allowed"]), "Spares tokens that are issued from now on."),
            ], "[revokes](../security.md#revocations) a user, token or API key: exactly one of `uid`, `jti`, `key`"
        ) { arguments throws(RequestError) in
            .revoke(
                try revoked(by: arguments), forMs: arguments.integer("forMs"),
                sparesLaterTokens: arguments["later"] == "allowed")
        },
        .post(
            "/admin/v1/revocations/clear", former: "/admin/revocations/clear", subject, "lifts the revocation"
        ) { arguments throws(RequestError) in .clearRevocation(try revoked(by: arguments)) },
        .post(
            "/admin/v1/invalidations",
            [
                .query("type", .text(bytesMax: nameBytesMax), "A table's type; with `key`."),
                .query("key", .text(bytesMax: 1_024), "The row's key: a value, or several as a JSON array."),
                .query("operation", .text(bytesMax: 2 * nameBytesMax + 1), "A query, `CONNECTOR/OPERATION`."),
                .query("connector", .text(bytesMax: nameBytesMax), "A connector, of which everything is dropped."),
            ],
            "has [SDK clients](../clients/swift.md#remote-invalidation) drop a row, a query's results or everything"
        ) { arguments throws(RequestError) in .invalidate(try invalidated(by: arguments)) },
        .post(
            "/admin/v1/slot/drop", former: "/admin/slot/drop", [],
            "drops the replication slot, its record and the publications ([when](cli.md#freshet-admin-slot))"
        ) { _ throws(RequestError) in .dropSlot },
    ]

    private static func invalidated(by arguments: AdminArguments) throws(RequestError) -> InvalidationTarget {
        let operation = try arguments.operation()
        switch (arguments["type"], arguments["key"], operation, arguments["connector"]) {
        case (let type?, let key?, nil, nil): return .entity(type: type, text: key)
        case (nil, nil, let operation?, nil): return .operation(operation)
        case (nil, nil, nil, let connector?): return .connector(connector)
        default:
            throw RequestError(.badRequest, "give type and key, operation, or connector, and nothing else")
        }
    }

    private static func revoked(by arguments: AdminArguments) throws(RequestError) -> RevocationSubject {
        let named = ["uid", "jti", "key"].filter { arguments[$0] != nil }
        guard named.count == 1, let kind = named.first,
            let subject = RevocationSubject(kind: kind, value: arguments[kind] ?? "")
        else {
            throw RequestError(
                .badRequest,
                "exactly one of uid, jti and key must be given, with 1 to \(RevocationSubject.bytesMax) bytes")
        }
        return subject
    }
}
