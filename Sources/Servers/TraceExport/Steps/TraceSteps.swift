package import Inspection
import JSON
import LiveModel
import Observability
import Tracing

/// Makes spans, which have a beginning and an end, of the steps that a node notes of traced mutations. Pure.
///
/// A mutation's trace is named `TRACEID-SPANID` on all nodes: its W3C trace and its own span. The ids of further spans
/// are derived from that name, so that each node knows the parents of its spans without asking another one:
///
///     mutation (API node)
///     ├ commit
///     ├ publish
///     └ evaluate, one for each shard (worker)
///       └ run, one for each run of a live query
///         └ deliver, for each gateway and event loop
package struct TraceSteps: Sendable {
    private struct Mutation {
        let startUs: Int64
        let operation: String
        let parent: String?
        var committedUs: Int64 = 0
    }

    private struct Delivery: Hashable {
        let trace: String
        let key: String
    }

    /// The mutations and deliveries that are followed at a time; the oldest are forgotten.
    private static let openMax = 4_096

    private var mutations = BoundedTable<String, Mutation>(countMax: openMax)
    private var arrived = BoundedTable<Delivery, (us: Int64, parts: Int)>(countMax: openMax)

    package init() {}

    /// Takes the next step that the node noted.
    /// - Returns: the spans that it ends.
    package mutating func noted(_ step: Inspection.Span) -> [TraceSpan] {
        guard let name = TraceName(step.trace) else { return [] }
        switch step.kind {
        case .received:
            mutations.set(
                step.trace,
                Mutation(
                    startUs: step.atUs, operation: step.text("mutation"),
                    parent: step.details["parentSpan"]?.stringValue))
            return []
        case .committed: return committed(step, name)
        case .failed: return failed(step, name)
        case .published: return published(step, name)
        case .matched: return [evaluated(step, name)]
        case .query: return []
        case .ran: return [ran(step, name)]
        case .arrived:
            arrived.set(Delivery(trace: step.trace, key: step.text("key")), (step.atUs, 0))
            return []
        case .delivered: return [delivered(step, name)]
        }
    }

    private mutating func committed(_ step: Inspection.Span, _ name: TraceName) -> [TraceSpan] {
        guard var mutation = mutations[step.trace] else { return [] }
        mutation.committedUs = step.atUs
        let event = step.text("event")
        // Without an event there is nothing to publish.
        if event.isEmpty { _ = mutations.remove(step.trace) } else { mutations.set(step.trace, mutation) }
        var whole = root(mutation, name, endUs: step.atUs)
        if !event.isEmpty { whole.attributes["freshet.event.id"] = .text(event) }
        var commit = name.span("commit", .client, from: mutation.startUs, to: step.atUs, id: name.id("commit"))
        commit.attributes["db.system.name"] = .text("postgresql")
        return [whole, commit]
    }

    private mutating func failed(_ step: Inspection.Span, _ name: TraceName) -> [TraceSpan] {
        guard let mutation = mutations.remove(step.trace) else { return [] }
        var whole = root(mutation, name, endUs: step.atUs)
        whole.error = step.text("error")
        return [whole]
    }

    private func root(_ mutation: Mutation, _ name: TraceName, endUs: Int64) -> TraceSpan {
        var span = name.span(
            "mutation \(mutation.operation)", .server, from: mutation.startUs, to: endUs, id: name.mutation)
        span.parentID = mutation.parent
        span.attributes["freshet.operation"] = .text(mutation.operation)
        span.attributes["graphql.operation.type"] = .text("mutation")
        return span
    }

    private mutating func published(_ step: Inspection.Span, _ name: TraceName) -> [TraceSpan] {
        guard let mutation = mutations.remove(step.trace) else { return [] }
        var span = name.span(
            "publish", .producer, from: mutation.committedUs, to: step.atUs, id: name.id("publish"))
        span.attributes["messaging.system"] = .text("redis")
        span.attributes["freshet.shards"] = .texts(
            (step.details["shards"]?.arrayValue ?? []).compactMap { $0.intValue.map { String($0) } })
        return [span]
    }

    /// Begins when Redis took the event into the shard's stream, by Redis' clock.
    private func evaluated(_ step: Inspection.Span, _ name: TraceName) -> TraceSpan {
        let entry = step.text("id").prefix { $0 != "-" }
        let startUs = min(step.atUs, Int64(entry).map { $0 &* 1_000 } ?? step.atUs)
        let shard = step.number("shard")
        var span = name.span("evaluate", .consumer, from: startUs, to: step.atUs, id: name.id("evaluate", "\(shard)"))
        span.attributes["freshet.shard"] = .number(shard)
        span.attributes["freshet.considered"] = .number(step.number("considered"))
        span.attributes["freshet.matched"] = .number(step.number("matched"))
        return span
    }

    private func ran(_ step: Inspection.Span, _ name: TraceName) -> TraceSpan {
        let (key, outcome, shard) = (step.text("key"), step.text("outcome"), step.number("shard"))
        // Only one run for a mutation can change the result; others, such as failed ones, have no children.
        let id = outcome == "changed" ? name.id("run", key) : name.id("run", key, outcome, "\(step.atUs)")
        var span = name.span(
            "run \(step.text("operation"))", .internal,
            from: step.atUs - step.number("durationMs") &* 1_000, to: step.atUs, id: id)
        span.parentID = name.id("evaluate", "\(shard)")
        span.attributes["freshet.operation"] = .text(step.text("operation"))
        span.attributes["freshet.live_query"] = .text(key)
        span.attributes["freshet.shard"] = .number(shard)
        span.attributes["freshet.outcome"] = .text(outcome)
        span.attributes["freshet.coalesced"] = .number(step.number("coalesced"))
        span.attributes["freshet.gateways"] = .texts(
            (step.details["gateways"]?.arrayValue ?? []).compactMap(\.stringValue))
        if outcome == "failed" || outcome == "cutShort" { span.error = outcome }
        return span
    }

    private mutating func delivered(_ step: Inspection.Span, _ name: TraceName) -> TraceSpan {
        let key = step.text("key")
        let place = Delivery(trace: step.trace, key: key)
        var part = 0
        var startUs = step.atUs
        if let arrival = arrived[place] {
            (startUs, part) = (min(arrival.us, step.atUs), arrival.parts)
            arrived.set(place, (arrival.us, part + 1))
        }
        var span = name.span(
            "deliver", .producer, from: startUs, to: step.atUs, id: name.id("deliver", key, step.node, "\(part)"))
        span.parentID = name.id("run", key)
        span.attributes["freshet.live_query"] = .text(key)
        span.attributes["freshet.sessions"] = .number(step.number("sessionCount"))
        span.attributes["freshet.sessions_behind"] = .number(step.number("held"))
        return span
    }
}

extension Inspection.Span {
    fileprivate func text(_ name: String) -> String { details[name]?.stringValue ?? "" }
    fileprivate func number(_ name: String) -> Int64 { details[name]?.intValue ?? 0 }
}
