package import JSON

/// A message from the owner of a shard to a gateway, sent through the gateway's inbox stream.
///
/// `answers` is the number of the gateway's latest announcement (`AnnouncementID.number`) that the owner had processed.
package enum InboxMessage: Sendable, Hashable {
    /// A new result.
    case result(shard: ShardID, key: LiveQueryKey, result: LiveResult, answers: UInt64 = 0)
    /// The result that the gateway announced is still current. `position` has the rank of the run that read it, perhaps
    /// under a former owner, and its `id` is the event up to which it is now known to be fresh; `epoch` is the
    /// sender's.
    case unchanged(
        shard: ShardID, key: LiveQueryKey, digest: Digest, position: Position, epoch: UInt64, answers: UInt64 = 0)
    /// A timer run found the result that the gateway holds; sent to gateways that request such messages
    /// (`AnnouncementID.reportsTimerRuns`).
    case unchangedTick(shard: ShardID, key: LiveQueryKey, digest: Digest, position: Position, answers: UInt64 = 0)
    /// The run failed. The live query stays registered; a later refresh may succeed.
    case failed(shard: ShardID, key: LiveQueryKey, position: Position, error: RequestError, answers: UInt64 = 0)
    /// A worker took the shard under this epoch: announce all live queries of the shard.
    case announceAll(shard: ShardID, epoch: UInt64)
    /// No event of the shard up to `through` concerns the gateway's results there, `except` for these. This holds for
    /// exactly the live queries and results that `held` represents; a gateway that holds others (a message was lost, or
    /// is in transit) must ignore it.
    case settled(shard: ShardID, epoch: UInt64, through: StreamID, except: [LiveQueryKey], held: HeldFingerprint)
    /// Whatever events before this marker in the shard's stream changed was sent to the gateway before it. Sent to
    /// gateways that take markers (`AnnouncementID.takesMarkers`).
    case marker(shard: ShardID, epoch: UInt64, LagMarker)
    /// The gateway's ticket of this number came back: the same promise as that of a marker.
    case ticket(shard: ShardID, epoch: UInt64, number: UInt64)
}

extension InboxMessage {
    /// The live query that the message concerns; nil if it concerns a shard.
    package var key: LiveQueryKey? {
        switch self {
        case .result(_, let key, _, _), .unchanged(_, let key, _, _, _, _), .unchangedTick(_, let key, _, _, _),
            .failed(_, let key, _, _, _):
            key
        case .announceAll, .settled, .marker, .ticket: nil
        }
    }

    /// The announcement that the message answers; nil if it concerns a shard.
    package var answers: UInt64? {
        switch self {
        case .result(_, _, _, let answers), .unchanged(_, _, _, _, _, let answers),
            .unchangedTick(_, _, _, _, let answers), .failed(_, _, _, _, let answers):
            answers
        case .announceAll, .settled, .marker, .ticket: nil
        }
    }

    /// The fields of a stream entry that holds these messages in order: those of each, one after the other.
    package static func fields(of messages: [InboxMessage]) -> [(String, [UInt8])] { messages.flatMap(\.fields) }

    /// Reads the messages of a stream entry.
    /// - Throws: `MessageError` if a message is not of this format; none of the entry counts then.
    package static func all(
        in fields: [(name: String, value: [UInt8])]
    ) throws(MessageError) -> [InboxMessage] {
        // One message is the usual case.
        let starts = fields.indices.filter { fields[$0].name == StreamField.message }
        guard let first = starts.first, first == fields.startIndex else {
            throw MessageError(field: StreamField.message)
        }
        var messages: [InboxMessage] = []
        messages.reserveCapacity(starts.count)
        for (index, start) in starts.enumerated() {
            let end = index + 1 < starts.count ? starts[index + 1] : fields.endIndex
            messages.append(try InboxMessage(fields: fields[start..<end]))
        }
        return messages
    }

    /// The fields of the message in a stream entry: a JSON object, the result's unchanged body, and its entities if it
    /// has any.
    package var fields: [(String, [UInt8])] {
        switch self {
        case .result(let shard, let key, let result, let answers):
            Self.result(shard, key, result, answers)
        case .unchanged(let shard, let key, let digest, let position, let epoch, let answers):
            [Self.same("unchanged", shard, key, digest, position, epoch, answers)]
        case .unchangedTick(let shard, let key, let digest, let position, let answers):
            [Self.same("ticked", shard, key, digest, position, position.epoch, answers)]
        case .failed(let shard, let key, let position, let error, let answers):
            [
                Self.header([
                    "type": "failed", "shard": .int(Int64(shard.number)), "key": .string(key.digest.hex),
                    "position": .string(position.description), "code": .string(error.code.rawValue),
                    "message": .string(error.message), "path": error.messagePath,
                    "answers": .int(Int64(clamping: answers)),
                ])
            ]
        case .announceAll(let shard, let epoch):
            [Self.header(["type": "announceAll", "shard": .int(Int64(shard.number)), "epoch": .string(String(epoch))])]
        case .settled(let shard, let epoch, let through, let except, let held):
            [
                Self.header([
                    "type": "settled", "shard": .int(Int64(shard.number)), "epoch": .string(String(epoch)),
                    "through": .string(through.description), "except": .array(except.map { .string($0.digest.hex) }),
                    "held": .string(String(held.value, radix: 16)),
                ])
            ]
        case .marker(let shard, let epoch, let marker):
            [
                Self.header([
                    "type": "marker", "shard": .int(Int64(shard.number)), "epoch": .string(String(epoch)),
                    "times": .object(marker.json),
                ])
            ]
        case .ticket(let shard, let epoch, let number):
            [
                Self.header([
                    "type": "ticket", "shard": .int(Int64(shard.number)), "epoch": .string(String(epoch)),
                    "number": .string(String(number)),
                ])
            ]
        }
    }

    private static func result(
        _ shard: ShardID, _ key: LiveQueryKey, _ result: LiveResult, _ answers: UInt64
    ) -> [(String, [UInt8])] {
        var object: JSONObject = [
            "type": "result", "shard": .int(Int64(shard.number)), "key": .string(key.digest.hex),
            "digest": .string(result.digest.hex), "position": .string(result.position.description),
            "trace": .string(result.traceID), "at": .int(result.committedAtMs),
            "answers": .int(Int64(clamping: answers)),
        ]
        if result.isTraced { object["traced"] = true }
        if !result.answer.errors.isEmpty { object["errors"] = .array(result.answer.errors.map(\.messageObject)) }
        var fields = [header(object), (StreamField.body, result.answer.body)]
        if !result.answer.entities.isEmpty { fields.append((StreamField.entities, result.answer.entities)) }
        return fields
    }

    private static func same(
        _ type: String, _ shard: ShardID, _ key: LiveQueryKey, _ digest: Digest, _ position: Position, _ epoch: UInt64,
        _ answers: UInt64
    ) -> (String, [UInt8]) {
        header([
            "type": .string(type), "shard": .int(Int64(shard.number)), "key": .string(key.digest.hex),
            "digest": .string(digest.hex), "position": .string(position.description),
            "epoch": .string(String(epoch)), "answers": .int(Int64(clamping: answers)),
        ])
    }

    private static func header(_ object: JSONObject) -> (String, [UInt8]) {
        (StreamField.message, JSONValue.object(object).compactBytes)
    }

    private init(fields: ArraySlice<(name: String, value: [UInt8])>) throws(MessageError) {
        guard let bytes = fields.first?.value else { throw MessageError(field: StreamField.message) }
        let object = try MessageError.object(bytes, of: "inbox")
        let shard = ShardID(Int(try object.int("shard")))
        let type = try object.string("type")
        if ["announceAll", "settled", "marker", "ticket"].contains(type) {
            guard let epoch = UInt64(try object.string("epoch")) else { throw MessageError(field: "epoch") }
            switch type {
            case "settled": self = try Self.settled(object, shard, epoch)
            case "marker":
                self = .marker(shard: shard, epoch: epoch, try LagMarker(json: try object.object("times")))
            case "ticket":
                guard let number = UInt64(try object.string("number")) else { throw MessageError(field: "number") }
                self = .ticket(shard: shard, epoch: epoch, number: number)
            default: self = .announceAll(shard: shard, epoch: epoch)
            }
            return
        }
        guard let keyDigest = Digest(hex: try object.string("key")) else { throw MessageError(field: "key") }
        guard let position = Position(try object.string("position")) else { throw MessageError(field: "position") }
        let key = LiveQueryKey(digest: keyDigest)
        let answers = UInt64(clamping: try object.int("answers"))
        switch type {
        case "result":
            guard let digest = Digest(hex: try object.string("digest")) else { throw MessageError(field: "digest") }
            guard let body = fields.first(where: { $0.name == StreamField.body })?.value else {
                throw MessageError(field: StreamField.body)
            }
            self = .result(
                shard: shard, key: key,
                result: LiveResult(
                    position: position, digest: digest,
                    answer: OperationAnswer(
                        body: body, errors: try Self.errors(object),
                        entities: fields.first { $0.name == StreamField.entities }?.value ?? []),
                    traceID: try object.string("trace"), committedAtMs: try object.int("at"),
                    isTraced: object["traced"] == .bool(true)), answers: answers)
        case "unchanged", "ticked":
            guard let digest = Digest(hex: try object.string("digest")) else { throw MessageError(field: "digest") }
            guard let epoch = UInt64(try object.string("epoch")) else { throw MessageError(field: "epoch") }
            self =
                type == "ticked"
                ? .unchangedTick(shard: shard, key: key, digest: digest, position: position, answers: answers)
                : .unchanged(
                    shard: shard, key: key, digest: digest, position: position, epoch: epoch, answers: answers)
        case "failed":
            self = .failed(
                shard: shard, key: key, position: position, error: try RequestError(message: object), answers: answers)
        default:
            throw MessageError(field: "type")
        }
    }

    /// Decodes the field errors, which nodes of an older version do not send.
    private static func errors(_ object: JSONObject) throws(MessageError) -> [RequestError] {
        guard object["errors"] != nil else { return [] }
        var errors: [RequestError] = []
        for value in try object.array("errors") {
            guard case .object(let error) = value else { throw MessageError(field: "errors") }
            errors.append(try RequestError(message: error))
        }
        return errors
    }

    private static func settled(
        _ object: JSONObject, _ shard: ShardID, _ epoch: UInt64
    ) throws(MessageError) -> InboxMessage {
        guard let through = StreamID(try object.string("through")) else { throw MessageError(field: "through") }
        guard let held = UInt64(try object.string("held"), radix: 16) else { throw MessageError(field: "held") }
        var except: [LiveQueryKey] = []
        for value in try object.array("except") {
            guard let digest = value.stringValue.flatMap({ Digest(hex: $0) }) else {
                throw MessageError(field: "except")
            }
            except.append(LiveQueryKey(digest: digest))
        }
        return .settled(
            shard: shard, epoch: epoch, through: through, except: except, held: HeldFingerprint(value: held))
    }
}

/// The form of errors between nodes, without the cause, which is only for the log.
extension RequestError {
    fileprivate var messageObject: JSONValue {
        .object(["code": .string(code.rawValue), "message": .string(message), "path": messagePath])
    }

    fileprivate var messagePath: JSONValue {
        .array(
            path.map { element in
                switch element {
                case .key(let key): .string(key)
                case .index(let index): .int(Int64(index))
                }
            })
    }

    fileprivate init(message object: JSONObject) throws(MessageError) {
        let code = ErrorCode(rawValue: try object.string("code")) ?? .internalError
        var path: [PathElement] = []
        for element in object["path"]?.arrayValue ?? [] {
            switch element {
            case .string(let key): path.append(.key(key))
            case .int(let index): path.append(.index(Int(clamping: index)))
            default: throw MessageError(field: "path")
            }
        }
        self.init(code, try object.string("message"), path: path)
    }
}
