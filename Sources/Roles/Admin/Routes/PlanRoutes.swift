import LiveModel
import NIOHTTP1

/// Plans of operations on demand.
extension AdminRoutes {
    private static let textBytesMax = 64 << 10
    private static let planParameters: [AdminParameter] = [
        .query(
            "operation", .text(bytesMax: 2 * nameBytesMax),
            "The query: CONNECTOR/OPERATION, or OPERATION where that is unique.", isRequired: true),
        .query("variables", .text(bytesMax: textBytesMax), "The variables as a JSON object."),
        .query("uid", .text(bytesMax: nameBytesMax), "The user."),
        .query("claims", .text(bytesMax: textBytesMax), "The claims of the user's token as a JSON object."),
    ]
    private static let planExample = """
        {"node": "api-1", "operation": "auctions/LotBids", "sentences": ["bid is read whole: about 120000 rows, of \
        which about 12 are kept; an index could serve (lot_id = '…'::uuid)."], "isMeasured": false, \
        "rowsRead": 120000.0, "rowsKept": 12.0, "scans": [{"table": "bid", "node": "Seq Scan", \
        "filter": "(lot_id = '…'::uuid)", "rowsRead": 120000.0, "rowsKept": 12.0, "isWasteful": true}], \
        "plan": {"Node Type": "Aggregate"}, "sql": "SELECT …"}
        """

    static let plans: [AdminRoute] = [
        AdminRoute(
            .GET, "/admin/v1/plan", planParameters,
            "Postgres' plan of a query for given variables and user, without running it: rows read against rows kept",
            example: planExample, isLook: true,
            .report { services, arguments in try await services.plan(arguments, isMeasured: false) }),
        AdminRoute(
            .POST, "/admin/v1/plan", planParameters,
            "the same as GET, for variables that are longer than a request target may be", example: planExample,
            isLook: true, takesBody: true, isRead: true,
            .report { services, arguments in try await services.plan(arguments, isMeasured: false) }),
        AdminRoute(
            .POST, "/admin/v1/plan/analyze", planParameters,
            "runs a query once by `EXPLAIN (ANALYZE)`, in a read-only transaction of at most 5 s: its plan with the "
                + "rows and times as measured",
            example: planExample, isLook: true, takesBody: true,
            .report { services, arguments in try await services.plan(arguments, isMeasured: true) }),
    ]
}
