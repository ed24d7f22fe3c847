import Streams
import CHiredis
import LiveModel

/// The reason that a reply which should describe a stream was not decoded. A malformed one is a protocol violation, not
/// a trap.
enum StreamReplyError: Error, Equatable {
    /// The server refused the command.
    case refused(RedisFailure)
    case malformed

    var brokerError: BrokerError {
        switch self {
        case .refused(let failure): failure.brokerError
        case .malformed: BrokerError(.protocolViolation, "unreadable reply about a stream")
        }
    }
}

extension StreamInfo {
    /// Decodes a reply to `XINFO STREAM`; nil: there is no such stream.
    static func decode(_ value: RedisValue) throws(StreamReplyError) -> StreamInfo? {
        if case .error(let failure) = value {
            if failure.isNoSuchKey { return nil }
            throw .refused(failure)
        }
        guard let length = value["length"]?.integer, let lastID = value["last-generated-id"]?.streamID,
            let maxDeletedID = value["max-deleted-entry-id"]?.streamID,
            let added = value["entries-added"]?.integer, added >= 0
        else { throw .malformed }
        return StreamInfo(
            length: length, firstID: value["first-entry"]?.array?.first?.streamID, lastID: lastID,
            maxDeletedID: maxDeletedID, entriesAdded: UInt64(added))
    }
}

extension StreamEntry {
    /// Decodes an element of a reply to `XRANGE`.
    static func decode(_ value: RedisValue) throws(StreamReplyError) -> StreamEntry {
        guard let parts = value.array, parts.count == 2, let id = parts[0].streamID, let flat = parts[1].array,
            flat.count.isMultiple(of: 2)
        else { throw .malformed }
        var entry = StreamEntry(id: id, fields: [])
        entry.fields.reserveCapacity(flat.count / 2)
        for index in stride(from: 0, to: flat.count, by: 2) {
            guard case .bytes(let name) = flat[index], case .bytes(let value) = flat[index + 1] else {
                throw .malformed
            }
            entry.fields.append((String(decoding: name, as: UTF8.self), value))
        }
        return entry
    }

    /// Decodes an element of a reply to `XREAD`, without a `RedisValue`: this is the hot path of every reader.
    fileprivate static func decode(_ reply: UnsafePointer<redisReply>) throws(StreamReplyError) -> StreamEntry {
        guard reply.pointee.type == REDIS_REPLY_ARRAY, reply.pointee.elements == 2,
            let idReply = reply.pointee.element[0], let list = reply.pointee.element[1],
            let idText = idReply.pointee.str, list.pointee.type == REDIS_REPLY_ARRAY,
            list.pointee.elements.isMultiple(of: 2),
            let id = StreamID(utf8: UnsafeRawBufferPointer(start: idText, count: idReply.pointee.len))
        else { throw .malformed }
        var entry = StreamEntry(id: id, fields: [])
        let count = list.pointee.elements
        entry.fields.reserveCapacity(count / 2)
        var index = 0
        while index < count {
            guard let name = list.pointee.element[index], let value = list.pointee.element[index + 1] else {
                throw .malformed
            }
            entry.fields.append((replyText(name), replyBytes(value)))
            index += 2
        }
        return entry
    }
}

extension StreamBatch {
    /// Decodes a reply to `XREAD`: nothing, or entries by stream.
    static func decodeAll(_ reply: UnsafePointer<redisReply>) throws(StreamReplyError) -> [StreamBatch] {
        switch reply.pointee.type {
        case REDIS_REPLY_NIL: return []
        case REDIS_REPLY_ERROR: throw .refused(RedisFailure(message: replyText(reply)))
        default: break
        }
        var batches: [StreamBatch] = []
        for part in replyElements(reply) {
            let pair = replyElements(part)
            guard pair.count == 2 else { throw .malformed }
            let list = replyElements(pair[1])
            var batch = StreamBatch(stream: replyText(pair[0]), entries: [])
            batch.entries.reserveCapacity(list.count)
            for entry in list { batch.entries.append(try StreamEntry.decode(entry)) }
            batches.append(batch)
        }
        return batches
    }
}
