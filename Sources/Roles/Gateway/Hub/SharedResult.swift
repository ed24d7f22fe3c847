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
    /// One for each protocol in use; mostly one.
    private var encodings: [Encoding] = []
    private var streamTexts: [(format: StreamFormat, text: ByteBuffer)] = []
    /// By what the client holds; nil: the whole result is shorter. Bounded by `framesMax`.
    private var deltas: [Digest: ByteBuffer?] = [:]
    private var streamDeltas: [Digest: [(format: StreamFormat, text: ByteBuffer)]] = [:]

    private final class Encoding {
        let format: ResultFormat
        let rest: ByteBuffer
        /// Frames by the id of the subscription: most clients of a kind number theirs alike. Bounded by `framesMax`.
        var frames: [String: EncodedTextFrame] = [:]

        init(_ format: ResultFormat, _ result: LiveResult) {
            EncodingMetrics.shared.encodings[.message(format)].increment()
            self.format = format
            rest = ByteBuffer(bytes: format.rest(of: result))
        }
    }

    /// For connections that frame messages themselves: what is shared, and what goes before it.
    package func parts(id: String, as format: ResultFormat) -> (prefix: [UInt8], rest: ByteBuffer) {
        (format.prefix(id: id), encoding(format).rest)
    }

    private static let framesMax = 16

    package init(_ result: LiveResult, of key: LiveQueryKey) {
        self.result = result
        self.key = key
    }

    package var byteCount: Int { result.answer.byteCount }

    /// With all that was encoded of it: about a copy for each form, frame and patch.
    var heldBytes: Int {
        let copies =
            encodings.reduce(streamTexts.count) { $0 + 1 + $1.frames.count } + deltas.count + streamDeltas.count
        return (1 + copies) * byteCount
    }

    /// Sends it as a message of the protocol.
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

    /// The same as a piece of a stream that carries several operations.
    package func write(id: String, as format: ResultFormat, on exchange: HTTPExchange) {
        exchange.write(prefix: format.prefix(id: id), shared: encoding(format).rest)
    }

    /// The same for a stream, where nothing differs between subscribers.
    package func text(as format: StreamFormat) -> ByteBuffer {
        for known in streamTexts where known.format == format { return known.text }
        EncodingMetrics.shared.encodings[.stream(format)].increment()
        let text = ByteBuffer(bytes: format.result(result, of: key))
        streamTexts.append((format, text))
        return text
    }

    /// What follows `ResultFormat.deltaPrefix`, for a client that holds `held`. Nil: send the whole result.
    package func delta(from held: Digest, _ cache: inout DeltaCache) -> ByteBuffer? {
        if let known = deltas[held] { return known }
        let patch = cache.patch(from: held, to: result.digest, result.answer)
        let text = patch.map { ByteBuffer(bytes: ResultFormat.deltaRest($0)) }
        if deltas.count < Self.framesMax { deltas[held] = .some(text) }
        return text
    }

    /// The same for a stream.
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

/// Results of late, so that who comes now shares what was encoded for others: when a crowd comes back at once, too, a
/// result is encoded once. Of one event loop.
struct RecentResults {
    /// When it is full it begins anew.
    static let countMax = 32
    /// A larger result is not kept.
    static let resultBytesMax = 64 << 10
    /// Of all that are kept, with what was encoded of them.
    static let bytesMax = 4 << 20

    private var results: [LiveQueryKey: SharedResult] = [:]

    mutating func shared(_ result: LiveResult, of key: LiveQueryKey) -> SharedResult {
        // What is kept grows as it is encoded for more clients, so it is summed each time.
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

/// What a hub hands to a session.
package enum SessionDelivery {
    case result(SharedResult)
    case failed(RequestError)
}

/// A client's side of subscriptions. Everything happens on one event loop.
package protocol LiveSession: AnyObject {
    func deliver(_ delivery: SessionDelivery, id: String)
}
