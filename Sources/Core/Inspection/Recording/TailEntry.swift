package import JSON
package import LiveModel

/// One entry of a tail.
package struct TailEntry: Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        case event, run, delivery, session
    }

    package let kind: Kind
    /// The mutation of an event, otherwise the query.
    package let operation: String
    /// Whose mutation or session it is; nil if that is not known.
    package let uid: String?
    package let json: JSONObject

    static func event(_ seen: EventObservation, on node: NodeID, nowMs: Int64) -> TailEntry {
        let uid = seen.event.auth["uid"]?.stringValue
        var json: JSONObject = [
            "atMs": .int(nowMs), "node": .string(node.name), "shard": .int(Int64(seen.shard.number)),
            "id": .string(seen.id.description), "mutation": .string(seen.event.operation.description),
            "trace": .string(seen.event.traceID), "considered": .int(Int64(seen.considered)),
            "matched": .int(Int64(seen.matched)),
        ]
        json["uid"] = uid.map(JSONValue.string)
        return TailEntry(kind: .event, operation: seen.event.operation.description, uid: uid, json: json)
    }

    static func run(
        _ run: RunRecord, _ key: LiveQueryKey, _ operation: OperationReference, on node: NodeID, nowMs: Int64
    ) -> TailEntry {
        var json: JSONObject = [
            "atMs": .int(nowMs), "node": .string(node.name), "key": .string(key.description),
            "operation": .string(operation.description),
        ]
        for member in run.json.objectValue?.entries ?? [] { json[member.key] = member.value }
        return TailEntry(kind: .run, operation: operation.description, uid: nil, json: json)
    }

    /// - Parameter isHeld: whether the result waits because the client does not read.
    package static func delivery(
        _ result: LiveResult, _ key: LiveQueryKey, _ operation: OperationReference?, session: String, uid: String,
        isHeld: Bool, on node: NodeID, nowMs: Int64
    ) -> TailEntry {
        var json: JSONObject = [
            "atMs": .int(nowMs), "node": .string(node.name), "key": .string(key.description),
            "operation": .string(operation?.description ?? ""), "session": .string(session), "uid": .string(uid),
            "bytes": .int(Int64(result.answer.byteCount)), "isHeld": .bool(isHeld),
        ]
        if !result.traceID.isEmpty { json["trace"] = .string(result.traceID) }
        if result.committedAtMs > 0 { json["afterCommitMs"] = .int(max(0, nowMs - result.committedAtMs)) }
        return TailEntry(kind: .delivery, operation: operation?.description ?? "", uid: uid, json: json)
    }

    /// - Parameter reason: why it left the live query; nil if it began to follow it.
    package static func session(
        _ session: String, uid: String, _ key: LiveQueryKey, _ operation: OperationReference?, leaves reason: String?,
        on node: NodeID, nowMs: Int64
    ) -> TailEntry {
        var json: JSONObject = [
            "atMs": .int(nowMs), "node": .string(node.name), "session": .string(session), "uid": .string(uid),
            "key": .string(key.description), "operation": .string(operation?.description ?? ""),
            "change": .string(reason == nil ? "followed" : "left"),
        ]
        json["reason"] = reason.map(JSONValue.string)
        return TailEntry(kind: .session, operation: operation?.description ?? "", uid: uid, json: json)
    }
}

/// The entries that a tail gets.
package struct TailFilter: Sendable, Hashable {
    private let operation: String?
    private let kinds: Set<TailEntry.Kind>
    private let uid: String?

    /// - Parameters:
    ///   - operation: `CONNECTOR/OP`, or `OP` in any connector.
    ///   - kinds: names, also in the plural, separated by commas; nil: all.
    ///   - uid: only entries about this user.
    /// - Returns: nil if a kind is unknown.
    package init?(operation: String?, kinds: String?, uid: String?) {
        self.operation = operation
        self.uid = uid
        guard let kinds else {
            self.kinds = Set(TailEntry.Kind.allCases)
            return
        }
        var chosen: Set<TailEntry.Kind> = []
        for name in kinds.split(separator: ",") {
            let singular =
                name == "deliveries" ? "delivery" : name.hasSuffix("s") ? String(name.dropLast()) : String(name)
            guard let kind = TailEntry.Kind(rawValue: singular) else { return nil }
            chosen.insert(kind)
        }
        self.kinds = chosen
    }

    func accepts(_ entry: TailEntry) -> Bool {
        guard kinds.contains(entry.kind) else { return false }
        if let uid, entry.uid != uid { return false }
        guard let operation else { return true }
        return entry.operation == operation || entry.operation.hasSuffix("/" + operation)
    }
}
