package import JSON

/// Gateway → the owner of a shard, through the shard's control stream.
package enum ControlMessage: Sendable, Hashable {
    /// The gateway has subscribers of this live query. Idempotent.
    case announce(gateway: NodeID, query: LiveQuery, known: KnownResult?, ask: AnnouncementID = AnnouncementID())
    /// Its last subscriber left.
    case withdraw(gateway: NodeID, key: LiveQueryKey)
    /// The gateway leaves: all its interest in this shard ends.
    case leave(gateway: NodeID)
    /// Anti-entropy: how many live queries of this shard the gateway has, and the XOR of their keys' first eight
    /// bytes. An owner that counts otherwise asks for everything again; else it may tell how far all that is fresh, unless
    /// the gateway knows (`settled`: the last `InboxMessage.settled` it believed, zero: none) or, nil, does not listen.
    case summary(gateway: NodeID, count: Int, fingerprint: UInt64, settled: StreamID? = nil)
}

/// How an announcement wants to be answered.
package struct AnnouncementID: Sendable, Hashable {
    /// Of this gateway's announcements, ever increasing; what answers it or comes later carries it.
    package var number: UInt64
    /// Only a run that starts after this announcement will do: what the gateway or a client holds comes from another
    /// shard or from nowhere known, so neither what the owner has nor a run in flight need be newer.
    package var isFresh: Bool
    /// The gateway has sessions that want to hear of each run of an `every` rule, also when the result is the same.
    package var wantsTicks: Bool

    package init(number: UInt64 = 0, isFresh: Bool = false, wantsTicks: Bool = false) {
        self.number = number
        self.isFresh = isFresh
        self.wantsTicks = wantsTicks
    }
}

extension ControlMessage {
    /// Fields of a stream entry: one JSON object.
    package var fields: [(String, [UInt8])] {
        let object: JSONObject =
            switch self {
            case .announce(let gateway, let query, let known, let ask):
                [
                    "type": "announce", "gateway": .string(gateway.name),
                    "connector": .string(query.operation.connector), "operation": .string(query.operation.operation),
                    "version": .string(query.version.hex), "variables": .object(query.variables),
                    // Absent auth (nothing read) and null (signed out) are different keys.
                    "auth": .array(query.auth.map { [$0] } ?? []),
                    "digest": .string(known?.digest.hex ?? ""),
                    "position": .string(known?.position?.description ?? ""),
                    "ask": .int(Int64(clamping: ask.number)), "fresh": .bool(ask.isFresh),
                    "ticks": .bool(ask.wantsTicks),
                ]
            case .withdraw(let gateway, let key):
                ["type": "withdraw", "gateway": .string(gateway.name), "key": .string(key.digest.hex)]
            case .leave(let gateway):
                ["type": "leave", "gateway": .string(gateway.name)]
            case .summary(let gateway, let count, let fingerprint, let settled):
                [
                    "type": "summary", "gateway": .string(gateway.name), "count": .int(Int64(count)),
                    "fingerprint": .string(String(fingerprint, radix: 16)),
                    "settled": settled.map { .string($0.description) } ?? .null,
                ]
            }
        return [(StreamField.message, JSONValue.object(object).compactBytes)]
    }

    /// - Throws: `MessageError` when the fields are not a control message of this format.
    package init(fields: [(String, [UInt8])]) throws(MessageError) {
        guard let bytes = fields.first(where: { $0.0 == StreamField.message })?.1 else {
            throw MessageError(field: StreamField.message)
        }
        let object = try MessageError.object(bytes, of: "control")
        let gateway = NodeID(try object.string("gateway"))
        switch try object.string("type") {
        case "announce":
            guard let version = Digest(hex: try object.string("version")) else { throw MessageError(field: "version") }
            let query = LiveQuery(
                operation: OperationReference(
                    connector: try object.string("connector"), operation: try object.string("operation")),
                version: version, variables: try object.object("variables"), auth: try object.array("auth").first)
            let known = Digest(hex: try object.string("digest")).map {
                KnownResult(digest: $0, position: Position(object["position"]?.stringValue ?? ""))
            }
            let ask = AnnouncementID(
                number: UInt64(clamping: try object.int("ask")), isFresh: object["fresh"]?.boolValue ?? false,
                wantsTicks: object["ticks"]?.boolValue ?? false)
            self = .announce(gateway: gateway, query: query, known: known, ask: ask)
        case "withdraw":
            guard let digest = Digest(hex: try object.string("key")) else { throw MessageError(field: "key") }
            self = .withdraw(gateway: gateway, key: LiveQueryKey(digest: digest))
        case "leave":
            self = .leave(gateway: gateway)
        case "summary":
            guard let fingerprint = UInt64(try object.string("fingerprint"), radix: 16) else {
                throw MessageError(field: "fingerprint")
            }
            self = .summary(
                gateway: gateway, count: Int(try object.int("count")), fingerprint: fingerprint,
                settled: object["settled"]?.stringValue.flatMap { StreamID($0) })
        default:
            throw MessageError(field: "type")
        }
    }
}
