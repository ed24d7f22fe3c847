import Catalog
package import JSON
import LiveModel
import Operations
import QuerySQL
import Refresh

extension OperationExplanation {
    /// The explanation as JSON, for tools. Keys that do not apply to the operation's kind are absent.
    package var json: JSONValue {
        var object: JSONObject = [
            "connector": .string(reference.connector), "operation": .string(reference.operation),
            "kind": .string(kind.rawValue), "version": .string(version.hex), "auth": .string(auth),
            "variables": .array(variables.map { ["name": .string($0.name), "type": .string($0.type)] }),
            "shape": .object(shape),
        ]
        if !embeddings.isEmpty { object["embeddings"] = .array(embeddings.map(Self.json)) }
        if let sql {
            object["liveQueryKey"] = ["claims": Self.texts(claims)]
            object["rules"] = .array(rules.map(Self.json))
            object["sql"] = [
                "single": .string(sql.single), "multiplexed": .string(sql.multiplexed),
                "parameters": .array(
                    sql.parameters.map { ["source": .string($0.source), "type": .string($0.type)] }),
            ]
        } else {
            object["steps"] = .array(
                steps.map { ["field": .string($0.responseKey), "sql": $0.sql.map(JSONValue.string) ?? .null] })
        }
        object[kind == .query ? "refreshedBy" : "refreshes"] = .array(refreshing.map(Self.json))
        object["unnoticed"] = .array(unnoticed.map(Self.json))
        object["unrelatedCount"] = .int(Int64(unrelatedCount))
        object["isPartial"] = .bool(isPartial)
        return .object(object)
    }

    private static func texts(_ texts: [String]) -> JSONValue { .array(texts.map(JSONValue.string)) }

    private static func json(_ relation: Relation) -> JSONValue {
        [
            "connector": .string(relation.other.connector), "operation": .string(relation.other.operation),
            "reasons": texts(relation.reasons), "tables": texts(relation.tables),
        ]
    }

    private static func json(_ use: StoredOperation.EmbeddingUse) -> JSONValue {
        ["model": .string(use.model), "text": .string(use.text), "size": use.size.map { .int(Int64($0)) } ?? .null]
    }

    private static func json(_ rule: Rule) -> JSONValue {
        switch rule {
        case .implicit(let table, let key):
            return ["rule": "implicit", "table": .string(table), "key": texts(key), "index": "hash"]
        case .timer(let everyMs): return ["rule": "timer", "everyMs": .int(Int64(everyMs)), "index": "timer"]
        case .site(
            let table, let guards, let fields, let named, let filtered, let siteClass, let shown, let identity,
            let isOfSQL):
            return [
                "rule": "automatic", "table": .string(table), "guards": texts(guards),
                "fields": fields.map(texts) ?? .null, "namedFields": texts(named), "filteredFields": texts(filtered),
                "index": guards.isEmpty ? "all" : "hash",
                "class": .string(siteClass.rawValue), "identity": identity.map(texts) ?? .null,
                "entering": shown.map { texts($0.fields) } ?? .null, "order": shown.map { texts($0.order) } ?? .null,
                "sql": .bool(isOfSQL),
            ]
        case .anyRow: return ["rule": "automatic", "table": .null, "index": "all"]
        case .trigger(let mutation, let condition, let form):
            var object: JSONObject = [
                "rule": "onMutationExecuted", "connector": .string(mutation.connector),
                "mutation": .string(mutation.operation),
                "index": form.map { $0.hashKey.isEmpty ? "none" : "hash" } ?? "all",
            ]
            if let condition { object["condition"] = .string(condition) }
            if let form {
                object["hashKey"] = texts(form.hashKey)
                object["eventSide"] = texts(form.eventSide)
                object["subscriberSide"] = texts(form.subscriberSide)
                object["remainder"] = texts(form.remainder)
            }
            return .object(object)
        }
    }
}

enum JSONText {
    static func compact(_ object: JSONObject) -> String { JSONValue.object(object).description }
}
