import Inspection
import JSON
import LiveModel
import NIOHTTP1

/// Recorded events, trials of rules on them, and the flight recorders of users.
extension AdminRoutes {
    private static let recordMsMax: Int64 = 86_400_000
    private static let conditionBytesMax = 16 << 10

    private static func forMs(_ what: String) -> AdminParameter {
        .query("forMs", .integer(1...recordMsMax), "How long \(what), in milliseconds.", standard: "600000")
    }

    private static let uid = AdminParameter.query(
        "uid", .text(bytesMax: RevocationSubject.bytesMax), "The user.", isRequired: true)

    private static let stateExample = """
        {"recording": [{"node": "worker-1", "untilMs": 1764239600123, "events": 120, "bytes": 48211}], \
        "unreachable": []}
        """
    private static let flightExample = """
        {"isArmed": true, "untilMs": 1764239600123, "dropped": 0, "sessions": [{"session": "gateway-1/17", \
        "protocol": "graphql-transport-ws", "client": "gl-js/ fire/11.3.1", "peer": "10.0.0.9:50412", \
        "subscriptions": 2, "sinceMs": 64000}], "entries": [{"atMs": 1764239000123, "node": "gateway-1", \
        "kind": "delivered", "session": "gateway-1/17", "operation": "auctions/GetLot", "count": 3, "bytes": 1840}], \
        "unreachable": []}
        """

    static let recorded: [AdminRoute] = [
        AdminRoute(
            .POST, "/admin/v1/events/record", [node, forMs("events are recorded")],
            "workers record events and runs for [trials of rules](../operations/console.md#trials-of-rules)",
            example: stateExample, isLook: true,
            .gathered(
                GatheredReport(roles: [.worker], merge: { parts, _ in RecordedReports.states(parts) }) {
                    services, arguments in
                    services.why.node.recordEvents(forMs: arguments.integer("forMs") ?? 0)
                })),
        AdminRoute(
            .POST, "/admin/v1/events/stop", [node],
            "ends the recording of events; those recorded can be read for a time", example: stateExample, isLook: true,
            .gathered(
                GatheredReport(roles: [.worker], merge: { parts, _ in RecordedReports.states(parts) }) { services, _ in
                    services.why.node.stopEvents()
                })),
        .gathered(
            "/admin/v1/events/recording", [node], "whether events are recorded, and how many are, by node",
            example: stateExample,
            GatheredReport(roles: [.worker], merge: { parts, _ in RecordedReports.states(parts) }) { services, _ in
                services.why.node.eventsState
            }),
        AdminRoute(
            .GET, "/admin/v1/events",
            [
                node, operationFilter,
                .query(
                    "mutation", .text(bytesMax: 2 * nameBytesMax),
                    "With operation: also the events of this mutation, CONNECTOR/OPERATION."),
            ],
            "the recorded events and runs, and the live queries registered now: `lines` are those of a file for "
                + "[`freshet rules try`](cli.md#freshet-rules-try)",
            example: """
                {"events": 120, "runs": 96, "liveQueries": 7, "leftOut": 0, "recording": [{"node": "worker-1"}], \
                "unreadable": [], "lines": [{"type": "recording", "version": 1}], "unreachable": []}
                """, isLook: true,
            .gathered(
                GatheredReport(roles: [.worker], merge: { parts, _ in RecordedReports.events(parts) }) {
                    services, arguments in
                    await services.why.node.events(
                        of: try arguments.operation(), tried: try arguments.operation("mutation"))
                })),
        AdminRoute(
            .POST, "/admin/v1/rules/try",
            [
                .query(
                    "operation", .text(bytesMax: 2 * nameBytesMax), "The query, CONNECTOR/OPERATION.",
                    isRequired: true),
                .query(
                    "rule", .integer(1...10_000),
                    "The number of the edited rule in source order; not needed if the query has one only."),
                .query(
                    "mutation", .text(bytesMax: 2 * nameBytesMax),
                    "Tries a further rule about this mutation, CONNECTOR/OPERATION, instead of an edited one."),
                .query(
                    "condition", .text(bytesMax: conditionBytesMax),
                    "The condition to try; without it the rule has none."),
            ],
            "which live queries an edited rule would have refreshed, missed and spared on the recorded events",
            example: """
                {"sentence": "2 needless refreshes would be spared (120 events, 7 live queries).", "events": 120, \
                "liveQueries": 7, "leftOut": 0, "isCutShort": false, "incomplete": [], "totals": {"refreshed": 94, \
                "missed": 0, "spared": 2, "unproven": 0, "added": 0, "unjudged": 0}, "operations": [{"operation": \
                "auctions/ListLots", "liveQueries": 5, "spared": 2, "examples": [{"effect": "spared", \
                "mutation": "auctions/EditLot", "reason": "mutation.variables.category: 'Art' ≠ 'Books'"}]}], \
                "unjudged": [], "recording": [{"node": "worker-1"}], "unreachable": []}
                """, isLook: true, takesBody: true,
            .report { services, arguments in
                guard let operation = try arguments.operation() else {
                    throw RequestError(.badRequest, "operation is required")
                }
                return try await services.tryRule(
                    operation, number: arguments.integer("rule"), mutation: try arguments.operation("mutation"),
                    condition: arguments["condition"])
            }),
        AdminRoute(
            .POST, "/admin/v1/flight/record", [uid, node, forMs("the user's sessions are recorded")],
            "starts the [flight recorder](../operations/console.md#flight-recorder) of a user on all nodes",
            example: flightExample, isLook: true,
            .gathered(
                GatheredReport(merge: { parts, _ in RecordedReports.flight(parts) }) { services, arguments in
                    await services.why.node.armFlight(
                        of: arguments["uid"] ?? "", forMs: arguments.integer("forMs") ?? 0)
                })),
        AdminRoute(
            .POST, "/admin/v1/flight/stop", [uid, node], "ends the flight recorder of a user, and forgets it",
            example: flightExample, isLook: true,
            .gathered(
                GatheredReport(merge: { parts, _ in RecordedReports.flight(parts) }) { services, arguments in
                    await services.why.node.stopFlight(of: arguments["uid"] ?? "")
                })),
        AdminRoute(
            .GET, "/admin/v1/flight", [uid, node],
            "a user's sessions, and what its flight recorder has of them, by time", example: flightExample,
            isLook: true,
            .gathered(
                GatheredReport(merge: { parts, _ in RecordedReports.flight(parts) }) { services, arguments in
                    await services.why.node.flight(of: arguments["uid"] ?? "")
                })),
    ]
}
