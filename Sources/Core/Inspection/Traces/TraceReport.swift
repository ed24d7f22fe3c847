package import JSON

/// The way of one mutation, from the spans of all nodes.
package struct TraceReport: Sendable {
    private let trace: String
    private let spans: [Span]
    private let commit: Span?
    private let commitUs: Int64

    /// - Returns: nil without spans.
    package init?(_ trace: String, _ spans: [Span]) {
        guard !spans.isEmpty else { return nil }
        self.trace = trace
        self.spans = spans.sorted { ($0.atUs, $0.kind.rawValue, $0.node) < ($1.atUs, $1.kind.rawValue, $1.node) }
        commit = spans.first { $0.kind == .committed }
        let told = spans.lazy.compactMap { $0.details["committedAtMs"]?.intValue }.first.map { $0 * 1_000 }
        commitUs = commit?.atUs ?? told ?? self.spans[0].atUs
    }

    private var mutation: String {
        spans.lazy.compactMap { $0.details["mutation"]?.stringValue }.first ?? "a mutation"
    }

    private func spans(of kind: Span.Kind) -> [Span] { spans.filter { $0.kind == kind } }

    private func sum(_ kind: Span.Kind, _ member: String) -> Int64 {
        spans(of: kind).reduce(0) { $0 + ($1.details[member]?.intValue ?? 0) }
    }

    /// Milliseconds since the commit, in tenths.
    private func ms(_ span: Span) -> Double { (Double(span.atUs - commitUs) / 100).rounded() / 10 }

    /// The trace in one sentence.
    package var sentence: String {
        let matched = sum(.matched, "matched")
        let runs = spans(of: .ran)
        let changed = runs.count { $0.details["outcome"]?.stringValue == "changed" }
        let deliveries = sum(.delivered, "sessionCount")
        let found =
            "\(counted(Int(matched), "live query", "live queries")) matched, \(counted(runs.count, "run"))"
            + ", \(counted(changed, "changed result"))"
        if let last = spans(of: .delivered).last, deliveries > 0 {
            return "\(mutation) \(reach(Int(deliveries))) \(ms(last)) ms after its commit: \(found)."
        }
        if let failed = spans(of: .failed).last, commit == nil {
            let code = failed.details["error"]?.stringValue ?? "an error"
            return "\(mutation) failed with \(code); nothing was committed."
        }
        if spans(of: .matched).isEmpty {
            return spans(of: .published).isEmpty
                ? "\(mutation) committed; its event is not published yet, or refreshes nothing."
                : "\(mutation) committed and was published; no owner of its shards has read it yet."
        }
        let considered = counted(Int(sum(.matched, "considered")), "live query", "live queries")
        if matched == 0 {
            return
                "\(mutation) was compared with \(considered), and no rule matched."
        }
        return "\(mutation) reached no session: \(found)."
    }

    /// A session may follow several of the live queries. Not every span names all of its sessions.
    private func reach(_ deliveries: Int) -> String {
        let named = spans(of: .delivered).flatMap { $0.details["sessions"]?.arrayValue ?? [] }.compactMap(\.stringValue)
        return named.count == deliveries
            ? "reached \(counted(Set(named).count, "session"))" : "was delivered \(deliveries) times"
    }

    private func counted(_ count: Int, _ one: String, _ many: String? = nil) -> String {
        "\(count) \(count == 1 ? one : many ?? one + "s")"
    }

    package func json(unreachable: JSONValue) -> JSONValue {
        var object: JSONObject = ["trace": .string(trace), "mutation": .string(mutation)]
        object["event"] = commit?.details["event"]
        object["committedAtMs"] = commit?.details["committedAtMs"] ?? .int(commitUs / 1_000)
        object["sentence"] = .string(sentence)
        object["spans"] = .array(
            spans.map { span in
                var row: JSONObject = [
                    "kind": .string(span.kind.rawValue), "node": .string(span.node), "ms": .double(ms(span)),
                ]
                for member in span.details.entries where !["mutation", "event", "committedAtMs"].contains(member.key) {
                    row[member.key] = member.value
                }
                return .object(row)
            })
        object["unreachable"] = unreachable
        return .object(object)
    }
}
