package import HTTPServer
package import LiveModel
import Metrics
package import NIOCore
import Observability
package import Sessions

/// One result on one event loop, encoded once per protocol and shared by every session.
package final class SharedResult {
    package let result: LiveResult
    private let key: LiveQueryKey
    /// One encoding for each protocol in use; usually one.
    private var encodings: [Encoding] = []
    private var streamTexts: [(format: StreamFormat, text: ByteBuffer)] = []
    /// Patches by the digest that the client holds; nil if the whole result is shorter. Bounded by `framesMax`.
    private var deltas: [Digest: ByteBuffer?] = [:]
    private var poll: ByteBuffer?
    /// The entity tag of an answer to a poll, as in its header.
    private(set) lazy var entityTag = Array(
        EntityTag(KnownResult(digest: result.digest, position: result.position), of: key).description.utf8)
    private var streamDeltas: [Digest: [(format: StreamFormat, text: ByteBuffer)]] = [:]

    private final class Encoding {
        let format: ResultFormat
        let rest: ByteBuffer
        /// Frames by subscription id: clients with the same library mostly use the same ids. Bounded by `framesMax`.
        var frames: [String: EncodedTextFrame] = [:]

        init(_ format: ResultFormat, _ result: LiveResult) {
            EncodingMetrics.shared.encodings[.message(format)].increment()
            self.format = format
            rest = ByteBuffer(bytes: format.rest(of: result))
        }
    }

    /// Returns the individual prefix and the shared rest of a message, for connections that frame messages themselves.
    package func parts(id: String, as format: ResultFormat) -> (prefix: [UInt8], rest: ByteBuffer) {
        (format.prefix(id: id), encoding(format).rest)
    }

    private static let framesMax = 16

    package init(_ result: LiveResult, of key: LiveQueryKey) {
        self.result = result
        self.key = key
    }

    package var byteCount: Int { result.answer.byteCount }

    /// The memory held including all encodings: about one copy for each form, frame and patch.
    var heldBytes: Int {
        let copies =
            encodings.reduce(streamTexts.count) { $0 + 1 + $1.frames.count } + deltas.count + streamDeltas.count
            + (poll == nil ? 0 : 1)
        return (1 + copies) * byteCount
    }

    /// Sends the result as a message of the protocol.
    package func send(id: String, as format: ResultFormat, on connection: WebSocketConnection) {
        let encoding = encoding(format)
        if let frame = encoding.frames[id] {
            connection.send(frame)
            return
        }
        let prefix = format.prefix(id: id)
        guard encoding.frames.count < Self.framesMax else {
            connection.send(prefix: prefix, shared: encoding.rest)
            return
        }
        var text = ByteBuffer()
        text.reserveCapacity(prefix.count + encoding.rest.readableBytes)
        text.writeBytes(prefix)
        text.writeImmutableBuffer(encoding.rest)
        let frame = EncodedTextFrame(text: text)
        encoding.frames[id] = frame
        connection.send(frame)
    }

    /// Writes the result to a stream that carries several operations.
    package func write(id: String, as format: ResultFormat, on exchange: HTTPExchange) {
        exchange.write(prefix: format.prefix(id: id), shared: encoding(format).rest)
    }

    /// Returns the result for a stream, where all subscribers get the same text.
    package func text(as format: StreamFormat) -> ByteBuffer {
        for known in streamTexts where known.format == format { return known.text }
        EncodingMetrics.shared.encodings[.stream(format)].increment()
        let text = ByteBuffer(bytes: format.result(result, of: key))
        streamTexts.append((format, text))
        return text
    }

    /// Returns the end of an answer to a poll: `ETag`, `Cache-Control`, `Content-Type`, `Content-Length`, an empty line
    /// and the body.
    /// - Parameter cacheControl: the field's value, which is the same for all polls of a live query.
    package func pollAnswer(cacheControl: String) -> ByteBuffer {
        if let poll { return poll }
        let tag = String(decoding: entityTag, as: UTF8.self)
        let body = result.answer.envelope
        var text = ByteBuffer(
            string: """
                ETag: \(tag)\r
                Cache-Control: \(cacheControl)\r
                Content-Type: application/json\r
                Content-Length: \(body.count)\r
                \r\n
                """)
        text.writeBytes(body)
        poll = text
        return text
    }

    /// Returns what follows `ResultFormat.deltaPrefix` for a client that holds `held`; nil to send the whole result.
    package func delta(from held: Digest, _ cache: inout DeltaCache) -> ByteBuffer? {
        if let known = deltas[held] { return known }
        let patch = cache.patch(from: held, to: result.digest, result.answer)
        let text = patch.map { ByteBuffer(bytes: ResultFormat.deltaRest($0)) }
        if deltas.count < Self.framesMax { deltas[held] = .some(text) }
        return text
    }

    /// Returns the patch for a stream; nil to send the whole result.
    package func delta(from held: Digest, as format: StreamFormat, _ cache: inout DeltaCache) -> ByteBuffer? {
        for known in streamDeltas[held] ?? [] where known.format == format { return known.text }
        guard let patch = cache.patch(from: held, to: result.digest, result.answer),
            let bytes = format.delta(patch, to: result, of: key)
        else { return nil }
        let text = ByteBuffer(bytes: bytes)
        if streamDeltas.count < Self.framesMax { streamDeltas[held, default: []].append((format, text)) }
        return text
    }

    private func encoding(_ format: ResultFormat) -> Encoding {
        for encoding in encodings where encoding.format == format { return encoding }
        let encoding = Encoding(format, result)
        encodings.append(encoding)
        return encoding
    }
}

/// The recent results of one event loop, so that new subscribers share what was encoded for others. When many clients
/// reconnect at once, a result is still encoded once.
struct RecentResults {
    /// The number of results; a full cache is emptied.
    static let countMax = 32
    /// The largest result that is kept.
    static let resultBytesMax = 64 << 10
    /// The memory of all results kept, including their encodings.
    static let bytesMax = 4 << 20

    private var results: [LiveQueryKey: SharedResult] = [:]

    mutating func shared(_ result: LiveResult, of key: LiveQueryKey) -> SharedResult {
        // Results grow as they are encoded for more clients, so they are summed each time.
        if results.values.reduce(0, { $0 + $1.heldBytes }) > Self.bytesMax {
            results = results.filter { $0.key == key }
        }
        if let known = results[key], known.result.digest == result.digest, known.result.position == result.position {
            return known
        }
        let shared = SharedResult(result, of: key)
        if shared.byteCount <= Self.resultBytesMax {
            if results.count >= Self.countMax, results[key] == nil { results = [:] }
            results[key] = shared
        } else {
            results[key] = nil
        }
        return shared
    }
}

/// What a hub delivers to a session.
package enum SessionDelivery {
    case result(SharedResult)
    case failed(RequestError)
}

/// The receiver of a client's subscriptions. Everything happens on one event loop.
package protocol LiveSession: AnyObject {
    func deliver(_ delivery: SessionDelivery, id: String)
    /// Gathers the writes of several deliveries into as few system calls as possible.
    func gathered(_ deliveries: () -> Void)
}

extension LiveSession {
    /// A session with one subscription has at most one delivery in a turn that is worth a write.
    package func gathered(_ deliveries: () -> Void) { deliveries() }
}
