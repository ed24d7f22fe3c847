package import HTTPServer
package import LiveModel
package import NIOCore
package import Sessions

/// One result on one event loop, encoded once per protocol and shared by every session.
package final class SharedResult {
    package let result: LiveResult
    /// Frames by the id of the subscription: most clients of a kind number theirs alike. Bounded by `framesMax`.
    private var frames: [String: EncodedTextFrame] = [:]
    private var rest: ByteBuffer?
    private static let framesMax = 16

    package init(_ result: LiveResult) {
        self.result = result
    }

    package var byteCount: Int { result.body.count }

    /// Sends as a `next` message of `graphql-transport-ws`.
    package func sendNext(id: String, on connection: WebSocketConnection) {
        if let frame = frames[id] {
            connection.send(frame)
            return
        }
        let rest = self.rest ?? ByteBuffer(bytes: GraphQLTransportWSMachine.nextRest(body: result.body))
        self.rest = rest
        let prefix = GraphQLTransportWSMachine.nextPrefix(id: id)
        guard frames.count < Self.framesMax else {
            connection.send(prefix: prefix, shared: rest)
            return
        }
        var text = ByteBuffer()
        text.reserveCapacity(prefix.count + rest.readableBytes)
        text.writeBytes(prefix)
        text.writeImmutableBuffer(rest)
        let frame = EncodedTextFrame(text: text)
        frames[id] = frame
        connection.send(frame)
    }
}

/// What a hub hands to a session.
package enum SessionDelivery {
    case result(SharedResult)
    case failed(RequestError)
}

/// A client's side of subscriptions. Everything happens on one event loop.
package protocol LiveSession: AnyObject {
    func deliver(_ delivery: SessionDelivery, id: String)
}
