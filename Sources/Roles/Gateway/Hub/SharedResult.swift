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
    private var streamTexts: [(format: StreamFormat, text: SharedBody)] = []
    /// Patches by the digest that the client holds; nil if the whole result is shorter. Bounded by `framesMax`.
    private var deltas: [Digest: SharedBody?] = [:]
    private var poll: PollAnswer?
    private var compressedPoll: PollAnswer?
    private var knownEnvelope: SharedBody?
    private var tag: EntityTag {
        EntityTag(KnownResult(digest: result.digest, position: result.position), of: key)
    }
    /// The entity tag of an answer to a poll, as in its header unless that is compressed; then it is weak.
    private(set) lazy var entityTag = Array(tag.description.utf8)
    private var streamDeltas: [Digest: [(format: StreamFormat, text: SharedBody)]] = [:]

    private final class Encoding {
        let format: ResultFormat
        let rest: SharedBody
        /// Frames by subscription id: clients with the same library mostly use the same ids. Bounded by `framesMax`.
        var frames: [String: EncodedTextFrame] = [:]
        /// The same for sessions that agreed on compression.
        var compressedFrames: [DeflateWindow: [String: EncodedTextFrame]] = [:]
        /// Prefixes by subscription id, for connections that frame messages themselves. Bounded by `framesMax`.
        var prefixes: [String: [UInt8]] = [:]

        init(_ format: ResultFormat, _ result: LiveResult) {
            EncodingMetrics.shared.encodings[.message(format)].increment()
            self.format = format
            rest = SharedBody(bytes: format.rest(of: result))
        }
    }

    /// Returns the individual prefix and the shared rest of a message, for connections that frame messages themselves.
    package func parts(id: String, as format: ResultFormat) -> (prefix: [UInt8], rest: ByteBuffer) {
        let encoding = encoding(format)
        if let known = encoding.prefixes[id] { return (known, encoding.rest.bytes) }
        let prefix = format.prefix(id: id)
        if encoding.prefixes.count < Self.framesMax { encoding.prefixes[id] = prefix }
        return (prefix, encoding.rest.bytes)
    }

    /// The end of an answer to a poll: `ETag`, `Cache-Control`, `Content-Type`, `Content-Length`, an empty line and the
    /// body.
    package struct PollAnswer {
        package let text: ByteBuffer
        /// The length of the body without compression; nil: it is not compressed.
        package let plainBytes: Int?
    }

    private static let framesMax = 16

    package init(_ result: LiveResult, of key: LiveQueryKey) {
        self.result = result
        self.key = key
    }

    package var byteCount: Int { result.answer.byteCount }

    /// The memory held including all encodings: about one copy for each form, frame and patch.
    var heldBytes: Int {
        let messages = encodings.reduce(0) { count, encoding in
            let compressed = encoding.compressedFrames.values.reduce(0) { $0 + $1.count }
            return count + 1 + encoding.frames.count + compressed + encoding.rest.formCount
        }
        let texts = streamTexts.reduce(0) { $0 + 1 + $1.text.formCount }
        let polls = (poll == nil ? 0 : 1) + (compressedPoll == nil ? 0 : 1)
        let envelopes = knownEnvelope.map { 1 + $0.formCount } ?? 0
        return (1 + messages + texts + deltas.count + streamDeltas.count + polls + envelopes) * byteCount
    }

    /// Sends the result as a message of the protocol.
    package func send(id: String, as format: ResultFormat, on connection: WebSocketConnection) {
        let encoding = encoding(format)
        if let window = connection.deflateWindow, sendCompressed(id, encoding, window, connection) { return }
        if let frame = encoding.frames[id] {
            connection.send(frame)
            return
        }
        let prefix = format.prefix(id: id)
        guard encoding.frames.count < Self.framesMax else {
            connection.send(prefix: prefix, shared: encoding.rest.bytes)
            return
        }
        var text = ByteBuffer()
        text.reserveCapacity(prefix.count + encoding.rest.bytes.readableBytes)
        text.writeBytes(prefix)
        text.writeImmutableBuffer(encoding.rest.bytes)
        let frame = EncodedTextFrame(text: text)
        encoding.frames[id] = frame
        connection.send(frame)
    }

    /// - Returns: false if the result is to be sent as it is.
    private func sendCompressed(
        _ id: String, _ encoding: Encoding, _ window: DeflateWindow, _ connection: WebSocketConnection
    ) -> Bool {
        if let frame = encoding.compressedFrames[window]?[id] {
            connection.send(frame)
            return true
        }
        guard
            let frame = connection.compressedFrame(prefix: encoding.format.prefix(id: id), shared: encoding.rest)
        else { return false }
        if encoding.compressedFrames[window]?.count ?? 0 < Self.framesMax {
            encoding.compressedFrames[window, default: [:]][id] = frame
        }
        connection.send(frame)
        return true
    }

    /// Writes the result to a stream that carries several operations.
    package func write(id: String, as format: ResultFormat, on exchange: HTTPExchange) {
        exchange.write(prefix: format.prefix(id: id), shared: encoding(format).rest)
    }

    /// Returns the result for a stream, where all subscribers get the same text.
    package func text(as format: StreamFormat) -> SharedBody {
        for known in streamTexts where known.format == format { return known.text }
        EncodingMetrics.shared.encodings[.stream(format)].increment()
        let text = SharedBody(bytes: format.result(result, of: key))
        streamTexts.append((format, text))
        return text
    }

    /// Returns the end of an answer to a poll.
    /// - Parameter cacheControl: the field's value, which is the same for all polls of a live query.
    package func pollAnswer(cacheControl: String, to exchange: HTTPExchange) -> PollAnswer {
        if exchange.prefersGzip, let answer = compressedPollAnswer(cacheControl, exchange) { return answer }
        if let poll { return poll }
        let body = result.answer.envelope
        var text = pollHead(cacheControl, exchange, bodyBytes: body.count, isCompressed: false)
        text.writeBytes(body)
        let answer = PollAnswer(text: text, plainBytes: nil)
        poll = answer
        return answer
    }

    private func compressedPollAnswer(_ cacheControl: String, _ exchange: HTTPExchange) -> PollAnswer? {
        if let compressedPoll { return compressedPoll }
        let body = envelope
        guard let file = exchange.gzip(body) else { return nil }
        var text = pollHead(cacheControl, exchange, bodyBytes: file.readableBytes, isCompressed: true)
        text.writeImmutableBuffer(file)
        let answer = PollAnswer(text: text, plainBytes: body.bytes.readableBytes)
        compressedPoll = answer
        return answer
    }

    /// The body of a response with the result.
    package var envelope: SharedBody {
        if let knownEnvelope { return knownEnvelope }
        let envelope = SharedBody(bytes: result.answer.envelope)
        knownEnvelope = envelope
        return envelope
    }

    private func pollHead(
        _ cacheControl: String, _ exchange: HTTPExchange, bodyBytes: Int, isCompressed: Bool
    ) -> ByteBuffer {
        ByteBuffer(
            string: """
                ETag: \(isCompressed ? tag.weak : tag.description)\r
                Cache-Control: \(cacheControl)\r
                \(exchange.compressesResults ? "Vary: Accept-Encoding\r\n" : "")\
                \(isCompressed ? "Content-Encoding: gzip\r\n" : "")\
                Content-Type: application/json\r
                Content-Length: \(bodyBytes)\r
                \r\n
                """)
    }

    /// Returns what follows `ResultFormat.deltaPrefix` for a client that holds `held`; nil to send the whole result.
    package func delta(from held: Digest, _ cache: inout DeltaCache) -> SharedBody? {
        if let known = deltas[held] { return known }
        let patch = cache.patch(from: held, to: result.digest, result.answer)
        let text = patch.map { SharedBody(bytes: ResultFormat.deltaRest($0)) }
        if deltas.count < Self.framesMax { deltas[held] = .some(text) }
        return text
    }

    /// Returns the patch for a stream; nil to send the whole result.
    package func delta(from held: Digest, as format: StreamFormat, _ cache: inout DeltaCache) -> SharedBody? {
        for known in streamDeltas[held] ?? [] where known.format == format { return known.text }
        guard let patch = cache.patch(from: held, to: result.digest, result.answer),
            let bytes = format.delta(patch, to: result, of: key)
        else { return nil }
        let text = SharedBody(bytes: bytes)
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

/// An update that a hub delivers to a session.
package typealias SessionDelivery = SubscriptionUpdate<SharedResult>

/// The receiver of a client's subscriptions. Everything happens on one event loop.
package protocol LiveSession: AnyObject {
    func deliver(_ delivery: SessionDelivery, id: String)
    /// Gathers the writes of several deliveries into as few system calls as possible.
    func gathered(_ deliveries: () -> Void)
    /// The session as it is recorded; nil: not at all.
    var observed: ObservedSession? { get }
}

/// A session as it is recorded.
package struct ObservedSession {
    package let id: UInt64
    /// Empty if signed out.
    package let uid: String
    /// Whether the client does not read what it was sent.
    package let isBehind: Bool
    /// Why the session leaves a live query; nil: its client left it.
    package var leaving: String?
}

extension LiveSession {
    package var observed: ObservedSession? { nil }

    /// A session with one subscription has at most one delivery in a turn that is worth a write.
    package func gathered(_ deliveries: () -> Void) { deliveries() }
}
