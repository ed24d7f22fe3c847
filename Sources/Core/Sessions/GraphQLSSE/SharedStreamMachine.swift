import JSON
package import LiveModel

/// One client in graphql-sse's single connection mode: a reserved stream, opened by one request, that carries the
/// results of operations that other requests start and end. Source: enisdenjo/graphql-sse PROTOCOL.md.
///
/// Texts that come before the stream is open are held, up to `bytesMax`. Results of live queries are not among them:
/// they wait in the delivery queue.
package struct SharedStreamMachine: Sendable {
    package static let tokenHeader = "x-graphql-event-stream-token"
    package static let format = ResultFormat.event

    package enum Opening: Sendable, Hashable {
        /// Write these first.
        case opened([[UInt8]])
        /// The stream is open already.
        case conflict
        case gone
    }

    package enum Start: Sendable, Hashable {
        case started
        /// The id is in use.
        case conflict
        case refused(RequestError)
    }

    package enum Text: Sendable, Hashable {
        case none
        case write([UInt8])
        /// More than may be held: drop the reservation.
        case overflow
    }

    private enum State: Sendable {
        case reserved
        case open
        case closed
    }

    private var state = State.reserved
    private var operations: Set<String> = []
    private var held: [[UInt8]] = []
    private var heldBytes = 0
    private let operationsMax: Int
    private let bytesMax: Int

    package init(operationsMax: Int, bytesMax: Int) {
        self.operationsMax = operationsMax
        self.bytesMax = bytesMax
    }

    package var isOpen: Bool { if case .open = state { true } else { false } }
    package var operationCount: Int { operations.count }

    package mutating func open() -> Opening {
        switch state {
        case .reserved:
            state = .open
            defer { held = [] }
            return .opened(held)
        case .open: return .conflict
        case .closed: return .gone
        }
    }

    package mutating func start(id: String) -> Start {
        if case .closed = state { return .refused(RequestError(.notFound, "the stream is gone")) }
        guard !id.isEmpty, id.utf8.count <= operationIDBytesMax else {
            return .refused(RequestError(.badRequest, "\"operationId\" must have 1 to \(operationIDBytesMax) bytes"))
        }
        if operations.contains(id) { return .conflict }
        guard operations.count < operationsMax else { return .refused(.operationsMaximum(operationsMax)) }
        operations.insert(id)
        return .started
    }

    /// - Returns: whether it was active.
    package mutating func stop(id: String) -> Bool { operations.remove(id) != nil }

    /// The operation's only result.
    package mutating func finished(id: String, envelope: [UInt8]) -> Text {
        guard operations.remove(id) != nil else { return .none }
        return offer(Self.next(id, envelope) + Self.complete(id))
    }

    package mutating func failed(id: String, _ errors: [RequestError]) -> Text {
        finished(id: id, envelope: ResultEnvelope.errors(errors))
    }

    /// A result whose `data` is null: without `data` it would mean that the query never ran.
    package mutating func queryFailed(id: String, _ errors: [RequestError]) -> Text {
        finished(id: id, envelope: ResultEnvelope.errors(errors, body: Array("null".utf8)))
    }

    /// The operation continues.
    package mutating func refreshFailed(id: String, _ errors: [RequestError]) -> Text {
        guard operations.contains(id) else { return .none }
        return offer(Self.next(id, ResultEnvelope.errors(errors, body: Array("null".utf8))))
    }

    package mutating func close() {
        state = .closed
        operations = []
        held = []
    }

    private mutating func offer(_ text: [UInt8]) -> Text {
        switch state {
        case .open: return .write(text)
        case .closed: return .none
        case .reserved:
            heldBytes += text.count
            if heldBytes > bytesMax { return .overflow }
            held.append(text)
            return .none
        }
    }

    private static func next(_ id: String, _ envelope: [UInt8]) -> [UInt8] {
        var data = Array(#"{"id":"#.utf8)
        JSONWriter.append(.string(id), to: &data)
        data.append(contentsOf: #","payload":"#.utf8)
        return ServerSentEvent.event("next", id: nil, data: data + envelope + Array("}".utf8))
    }

    private static func complete(_ id: String) -> [UInt8] {
        ServerSentEvent.event("complete", id: nil, data: JSONWriter.compact(.object(["id": .string(id)])))
    }
}
