import Inspection
package import JSON
import LiveModel

/// A trial as JSON and as text.
extension RuleTrial {
    /// The outcome in one sentence.
    package var sentence: String {
        if eventCount == 0 { return "No event is recorded: nothing can be said." }
        if rows.isEmpty { return "The rules are the same: nothing would change." }
        let (missed, spared, added) = (total(.missed), total(.spared), total(.added))
        var parts: [String] = []
        if missed > 0 { parts.append("\(Self.count(missed, "needed refresh", "needed refreshes")) would be missed") }
        if spared > 0 {
            parts.append("\(Self.count(spared, "needless refresh", "needless refreshes")) would be spared")
        }
        if added > 0 { parts.append("\(Self.count(added, "refresh", "refreshes")) would be added") }
        if total(.unproven) > 0 {
            parts.append(
                "\(Self.count(total(.unproven), "refresh", "refreshes")) would be left out, of which no run tells "
                    + "whether the result changed")
        }
        if total(.unjudged) > 0 {
            parts.append("\(Self.count(total(.unjudged), "pair", "pairs")) cannot be judged, as values are hidden")
        }
        if parts.isEmpty { parts.append("the edited rules refresh the same live queries") }
        let scope =
            " (\(Self.count(eventCount, "event", "events")), "
            + "\(Self.count(queryCount, "live query", "live queries"))"
            + (isCutShort ? "; ended early" : "") + ")."
        return parts.joined(separator: ", ").capitalizedFirst + scope
    }

    /// Why the outcome is not the whole one, a sentence each; empty if it is.
    package var incomplete: [String] {
        var reasons: [String] = []
        if isCutShort { reasons.append("The trial ended early: later events were not looked at.") }
        if queriesLeftOut > 0 {
            reasons.append(
                "\(Self.count(queriesLeftOut, "live query was", "live queries were")) too many for the recording.")
        }
        if !missingNodes.isEmpty {
            reasons.append("The recording of \(missingNodes.sorted().joined(separator: ", ")) is missing.")
        }
        if !filteredOut.isEmpty {
            let names = filteredOut.sorted().map(\.description).joined(separator: ", ")
            reasons.append("Events of \(names) are not in the recording, which was filtered when it was written.")
        }
        return reasons
    }

    private static func count(_ count: Int, _ one: String, _ many: String) -> String {
        "\(count) \(count == 1 ? one : many)"
    }

    package var json: JSONValue {
        [
            "sentence": .string(sentence), "events": .int(Int64(eventCount)), "liveQueries": .int(Int64(queryCount)),
            "leftOut": .int(Int64(leftOut)), "isCutShort": .bool(isCutShort),
            "incomplete": .array(incomplete.map(JSONValue.string)), "totals": .object(Self.counts(total)),
            "operations": .array(
                rows.map { row in
                    var object: JSONObject = [
                        "operation": .string(row.operation.description), "liveQueries": .int(Int64(row.liveQueries)),
                    ]
                    for member in Self.counts({ row[$0] }).entries { object[member.key] = member.value }
                    object["examples"] = .array(row.examples.map(\.json))
                    return .object(object)
                }),
            "unjudged": .array(
                unjudged.map { found in
                    [
                        "event": .string(found.event.id), "mutation": .string(found.event.mutation.description),
                        "committedAtMs": .int(found.event.committedAtMs), "reason": .string(found.reason),
                        "liveQueries": .int(Int64(found.liveQueries)),
                    ]
                }),
        ]
    }

    private static func counts(_ count: (Effect) -> Int) -> JSONObject {
        JSONObject(Effect.allCases.map { ($0.rawValue, .int(Int64(count($0)))) })
    }
}

extension RuleTrial.Example {
    fileprivate var json: JSONValue {
        [
            "effect": .string(effect.rawValue), "event": .string(event.id),
            "mutation": .string(event.mutation.description), "committedAtMs": .int(event.committedAtMs),
            "trace": .string(event.traceID), "key": .string(query.key.description),
            "variables": .object(query.variables), "reason": .string(reason),
        ]
    }
}

extension String {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
