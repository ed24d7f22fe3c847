import Inspection
import JSON
import LiveModel

/// The traces of all nodes.
extension WhyService {
    /// - Throws: `.notFound` if no node has spans of the trace.
    func trace(_ trace: String) async throws -> JSONValue {
        let gathered = try await peers.gather("/admin/v1/node/trace/\(trace)", query: [], only: nil, roles: []) {
            node.spans(of: trace)
        }
        let spans = gathered.parts.flatMap { $0.json.array("spans").compactMap(Span.init(json:)) }
        guard let report = TraceReport(trace, spans) else {
            throw RequestError(
                .notFound,
                "no node has noted the trace \(trace): send the mutation with the header x-freshet-trace: 1, or arm "
                    + "recording with a rate")
        }
        return report.json(unreachable: Self.rows(gathered.unreachable))
    }

    func traces(limit: Int) async throws -> JSONValue {
        let gathered = try await peers.gather(
            "/admin/v1/node/traces", query: [("limit", "\(limit)")], only: nil, roles: []
        ) { node.traces(limit: limit) }
        let rows = gathered.parts.flatMap { $0.json.array("traces") }
            .sorted { $0.int("committedAtMs") > $1.int("committedAtMs") }
        return ["traces": .array(Array(rows.prefix(limit))), "unreachable": Self.rows(gathered.unreachable)]
    }
}
