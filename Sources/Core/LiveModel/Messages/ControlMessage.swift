package import JSON

/// A message from a gateway to the owner of a shard, sent through the shard's control stream.
package enum ControlMessage: Sendable, Hashable {
    /// The gateway has subscribers of this live query. Idempotent.
    case announce(
        gateway: NodeID, query: LiveQuery, known: KnownResult?,
        announcement: AnnouncementID = AnnouncementID())
    /// The gateway's last subscriber of the live query left.
    case withdraw(gateway: NodeID, key: LiveQueryKey)
    /// The gateway leaves: all its interest in this shard ends.
    case leave(gateway: NodeID)
    /// A summary for anti-entropy: the number of live queries that the gateway has in this shard, and the XOR of their
    /// keys' first eight bytes. An owner with other numbers requests all announcements again; otherwise it may report
    /// up to which event all of them are fresh. `settled` is the last `InboxMessage.settled` that the gateway applied
    /// (zero: none; nil: it does not use them).
    case summary(gateway: NodeID, count: Int, fingerprint: UInt64, settled: StreamID? = nil)
}

/// The number of an announcement and the kind of answer that it requires.
package struct AnnouncementID: Sendable, Hashable {
    /// Increases with every announcement of a gateway; answers to this announcement, and later messages, carry it.
    package var number: UInt64
    /// Whether only a run that starts after this announcement answers it. The result that the gateway or a client holds
    /// comes from another shard or an unknown source, so neither the owner's result nor a run in flight need be newer.
    package var requiresFreshRun: Bool
    /// Whether the gateway has sessions that receive every run of an `every` rule, even if the result is unchanged.
    package var reportsTimerRuns: Bool
    /// The client that subscribes on the gateway; nil if it is unknown, or there are several.
    package var client: ClientID?
    /// Whether the gateway takes markers (`InboxMessage.marker`). One of a version that does not know them could not
    /// read the messages that come with them.
    package var takesMarkers: Bool

    package init(
        number: UInt64 = 0, requiresFreshRun: Bool = false, reportsTimerRuns: Bool = false, client: ClientID? = nil,
        takesMarkers: Bool = true
    ) {
        self.client = client
        self.takesMarkers = takesMarkers
        self.number = number
        self.requiresFreshRun = requiresFreshRun
        self.reportsTimerRuns = reportsTimerRuns
    }
}

extension ControlMessage {
    /// The approximate size of the stream entry, for bounds.
    package var byteCount: Int {
        switch self {
        case .announce(_, let query, _, _): 512 + query.byteCount
        case .withdraw, .leave, .summary: 256
        }
    }

    /// The fields of the stream entry: one JSON object.
    package var fields: [(String, [UInt8])] {
        let object: JSONObject =
            switch self {
            case .announce(let gateway, let query, let known, let announcement):
                [
                    "type": "announce", "gateway": .string(gateway.name),
                    "connector": .string(query.operation.connector), "operation": .string(query.operation.operation),
                    "version": .string(query.version.hex), "variables": .object(query.variables),
                    // Absent auth (nothing read) and null (signed out) are different keys.
                    "auth": .array(query.auth.map { [$0] } ?? []),
                    "digest": .string(known?.digest.hex ?? ""),
                    "position": .string(known?.position?.description ?? ""),
                    "ask": .int(Int64(clamping: announcement.number)), "fresh": .bool(announcement.requiresFreshRun),
                    "ticks": .bool(announcement.reportsTimerRuns),
                    // Hexadecimal: JSON numbers are signed here.
                    "client": announcement.client.map { .string(String($0.number, radix: 16)) } ?? .null,
                    "markers": .bool(announcement.takesMarkers),
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

    /// - Throws: `MessageError` if the fields are not a control message of this format.
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
            let announcement = AnnouncementID(
                number: UInt64(clamping: try object.int("ask")), requiresFreshRun: object["fresh"]?.boolValue ?? false,
                reportsTimerRuns: object["ticks"]?.boolValue ?? false,
                client: object["client"]?.stringValue.flatMap { UInt64($0, radix: 16) }.map(ClientID.init(number:)),
                takesMarkers: object["markers"]?.boolValue ?? false)
            self = .announce(gateway: gateway, query: query, known: known, announcement: announcement)
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
