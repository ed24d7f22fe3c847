import Streams
import CHiredis
import LiveModel

/// A reply, copied from hiredis' memory.
enum RedisValue: Sendable, Equatable {
    case null
    case integer(Int64)
    case bytes([UInt8])
    case status(String)
    case error(RedisFailure)
    case array([RedisValue])

    init(_ reply: UnsafePointer<redisReply>) {
        switch reply.pointee.type {
        case REDIS_REPLY_STRING: self = .bytes(replyBytes(reply))
        case REDIS_REPLY_INTEGER: self = .integer(reply.pointee.integer)
        case REDIS_REPLY_STATUS: self = .status(replyText(reply))
        case REDIS_REPLY_ERROR: self = .error(RedisFailure(message: replyText(reply)))
        case REDIS_REPLY_ARRAY: self = .array(replyElements(reply).map { RedisValue($0) })
        default: self = .null
        }
    }

    var text: String? {
        switch self {
        case .bytes(let bytes): String(validating: bytes, as: UTF8.self)
        case .status(let text): text
        case .integer(let number): String(number)
        default: nil
        }
    }

    var integer: Int? {
        switch self {
        case .integer(let number): Int(number)
        case .bytes: text.flatMap { Int($0) }
        default: nil
        }
    }

    var streamID: StreamID? {
        guard case .bytes(let bytes) = self else { return nil }
        return bytes.withUnsafeBytes { StreamID(utf8: $0) }
    }

    var array: [RedisValue]? {
        guard case .array(let values) = self else { return nil }
        return values
    }

    /// The value that follows a name in a flat list of names and values.
    subscript(name: String) -> RedisValue? {
        guard let values = array else { return nil }
        for index in stride(from: 0, to: values.count - 1, by: 2) where values[index].text == name {
            return values[index + 1]
        }
        return nil
    }
}

/// An error reply. Its first word is the kind of error.
struct RedisFailure: Error, Sendable, Equatable {
    let word: String
    let message: String

    init(message: String) {
        self.message = message
        word = String(message.prefix { $0 != " " })
    }

    var isNoSuchKey: Bool { message == "ERR no such key" }

    /// Whether the server refused the command because the slot of its keys is being moved.
    var isSlotMoving: Bool { word == "ASK" || word == "TRYAGAIN" }

    /// Whether the server did not execute the command because of its current role or phase. Retry on a new connection:
    /// the handshake accepts only a loaded primary.
    var wantsReconnect: Bool { ["LOADING", "READONLY", "MASTERDOWN", "NOAUTH"].contains(word) }

    var brokerError: BrokerError {
        switch word {
        case "OOM": BrokerError(.outOfMemory, word)
        case "BUSY", "NOREPLICAS", "TRYAGAIN", "CLUSTERDOWN": BrokerError(.unavailable, word)
        // The message names the node to ask, which helps operators.
        case "MOVED", "ASK": BrokerError(.unavailable, message)
        default: wantsReconnect ? BrokerError(.unavailable, word) : BrokerError(.rejected, word)
        }
    }
}

// Copies from hiredis' memory; the reply must not be freed yet.

func replyBytes(_ reply: UnsafePointer<redisReply>) -> [UInt8] {
    guard let text = reply.pointee.str else { return [] }
    return [UInt8](UnsafeRawBufferPointer(start: text, count: reply.pointee.len))
}

func replyText(_ reply: UnsafePointer<redisReply>) -> String {
    guard let text = reply.pointee.str else { return "" }
    return String(decoding: UnsafeRawBufferPointer(start: text, count: reply.pointee.len), as: UTF8.self)
}

func replyElements(_ reply: UnsafePointer<redisReply>) -> [UnsafePointer<redisReply>] {
    guard reply.pointee.type == REDIS_REPLY_ARRAY, let elements = reply.pointee.element else { return [] }
    return (0..<reply.pointee.elements).compactMap { elements[$0].map { UnsafePointer($0) } }
}
