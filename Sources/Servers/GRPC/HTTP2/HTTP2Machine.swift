import NIOCore
import NIOHPACK
import NIOHTTP2

/// The server's side of one HTTP/2 connection, for gRPC only. Bytes of the client go in and events come out; what is to
/// be written is taken out by `fill`. No sockets, no clocks. Source: RFC 9113.
///
/// NIO's HTTP/2 handler allocates 22 KiB for each connection, and with it a delivery costs 1.6 times as much.
///
/// Long, because all frames share the state of one connection; what we send is in `HTTP2Machine+Sending.swift`.
///
/// The first mistake of a client on its connection ends it, one on a stream resets the stream (section 5.4).
struct HTTP2Machine {
    struct Limits {
        let streamsMax: Int
        let headerBytesMax: Int
        /// Streams that the client may reset.
        var resets: EventLimit
        /// Mistakes on streams, each of which costs a reset.
        var mistakes = EventLimit(eventsMax: 200, windowMs: 30_000)
        /// PING, SETTINGS, PRIORITY and unknown frames.
        var controlFrames: EventLimit
        /// The least number of streams that were reset lately which are remembered.
        var resetIDsMin = 200
        /// CONTINUATION frames of one header block, which may be empty.
        static let continuationsMax = 5
        /// DATA frames without data one after the other.
        static let emptyDataMax = 1
        /// Entries of one SETTINGS frame; there are six, and a few extensions.
        static let settingsMax = 32
        static let windowMax = 0x7FFF_FFFF
    }

    enum Event {
        case call(HTTP2StreamID, HPACKHeaders, endsInput: Bool)
        /// `windowBytes` are to be returned to the client's window.
        case data(HTTP2StreamID, ByteBuffer, windowBytes: Int, endsInput: Bool)
        case inputEnded(HTTP2StreamID)
        /// The stream is over; nothing more comes of it. Also for streams of which no call was reported.
        case closed(HTTP2StreamID)
        /// A frame that requests nothing but costs work.
        case controlFrame
        case pong(UInt64)
        /// The client reset a stream; `closed` follows if it was open.
        case cancelled
        /// The last event: the connection is to be ended with this code.
        case failed(HTTP2ErrorCode)
    }

    enum Mistake: Error {
        case connection(HTTP2ErrorCode)
        case stream(HTTP2StreamID, HTTP2ErrorCode)
    }

    private var reader = FrameReader()
    private var decoder: HPACKDecoder
    var limits: Limits
    /// Bounded by `streamsMax`.
    var streams: [HTTP2StreamID: HTTP2Stream] = [:]
    /// The highest stream that the client has begun.
    private var highestID = HTTP2StreamID.rootStream
    /// Streams that were reset lately: frames that were on their way are no mistake. At most `streamsMax`,
    /// or `resetIDsMin`.
    private var resetIDs = RecentStreams()
    private var header: HeaderProgress?
    private var hasSettings = false
    private var hasFailed = false
    private var emptyDataCount = 0
    /// The client's window: bytes that it may still send on all streams.
    private var inboundLeft = InboundWindow.bytes
    /// Our window: bytes that we may still send on all streams.
    var outboundLeft = InboundWindow.bytes
    /// The client's window of new streams (SETTINGS_INITIAL_WINDOW_SIZE).
    private var streamWindow = InboundWindow.bytes
    /// Frames that flow control does not hold back. Bounded by the connection, see `controlBytesMax`.
    var control = ByteBuffer()
    /// Streams with data that the client's windows permit, in the order of their turns. Entries of streams that are
    /// over are skipped, and removed when they become too many.
    var ready: [HTTP2StreamID] = []
    /// The number of entries at the beginning of `ready` that had their turns.
    var readyStart = 0
    var mustEmptyTable = false
    private var following: Event?

    /// A header block that continues in further frames.
    private struct HeaderProgress {
        let id: HTTP2StreamID
        let endsStream: Bool
        /// At most `headerBytesMax`.
        var block: ByteBuffer
        var continuations = 0
    }

    /// - Parameter decoder: a decoder that has decoded nothing: connections share the memory of its tables until a
    ///   client adds entries.
    init(_ limits: Limits, decoder: HPACKDecoder) {
        self.limits = limits
        self.decoder = decoder
        control.writeFrameHead(.settings, id: .rootStream, payloadBytes: 12)
        control.writeMultipleIntegers(UInt16(3), UInt32(limits.streamsMax))
        control.writeMultipleIntegers(UInt16(6), UInt32(limits.headerBytesMax))
    }

    mutating func received(_ bytes: ByteBuffer) { reader.append(bytes) }

    /// Called after the last event of a read.
    mutating func settle() { reader.settle() }

    /// Returns the next event; nil: more bytes are needed.
    mutating func next(nowMs: Int64) -> Event? {
        while !hasFailed {
            if let event = following {
                following = nil
                return event
            }
            do throws(Mistake) {
                switch reader.next() {
                case .incomplete: return nil
                case .notHTTP2: throw .connection(.protocolError)
                case .tooLong: throw .connection(.frameSizeError)
                case .frame(let frame): if let event = try take(frame, nowMs: nowMs) { return event }
                }
            } catch {
                switch error {
                case .stream(let id, let code) where limits.mistakes.permits(nowMs: nowMs):
                    if reset(id, code) { return .closed(id) }
                case .stream: return fail(.enhanceYourCalm)
                case .connection(let code): return fail(code)
                }
            }
        }
        return nil
    }

    private mutating func fail(_ code: HTTP2ErrorCode) -> Event {
        hasFailed = true
        following = nil
        return .failed(code)
    }

    // MARK: Frames

    private mutating func take(_ frame: HTTP2WireFrame, nowMs: Int64) throws(Mistake) -> Event? {
        if !hasSettings {
            guard frame.kind == .settings, !frame.has(HTTP2WireFrame.acknowledges) else {
                throw .connection(.protocolError)
            }
            hasSettings = true
        }
        if header != nil, frame.kind != .continuation { throw .connection(.protocolError) }
        switch frame.kind {
        case .data: return try data(frame)
        case .headers: return try headers(frame)
        case .continuation: return try continuation(frame)
        case .resetStream: return try resetByClient(frame, nowMs: nowMs)
        case .windowUpdate:
            try windowUpdate(frame)
            return nil
        case .settings, .ping, .priority, nil:
            guard limits.controlFrames.permits(nowMs: nowMs) else { throw .connection(.enhanceYourCalm) }
            return try controlFrame(frame)
        case .goAway:
            // It concerns streams that we would begin, of which there are none.
            guard frame.id == .rootStream else { throw .connection(.protocolError) }
            guard frame.payload.readableBytes >= 8 else { throw .connection(.frameSizeError) }
            return nil
        case .pushPromise: throw .connection(.protocolError)
        }
    }

    private func isIdle(_ id: HTTP2StreamID) -> Bool { id > highestID || Int(id) % 2 == 0 }

    private mutating func data(_ frame: HTTP2WireFrame) throws(Mistake) -> Event? {
        let id = frame.id
        guard !isIdle(id) else { throw .connection(.protocolError) }
        let windowBytes = frame.payload.readableBytes
        inboundLeft -= windowBytes
        guard inboundLeft >= 0 else { throw .connection(.flowControlError) }
        // Streams have their own windows for what the application has not taken; this one counts all bytes, including
        // those of closed streams.
        if inboundLeft < InboundWindow.bytes / 2 {
            windowUpdate(InboundWindow.bytes - inboundLeft, on: .rootStream)
            inboundLeft = InboundWindow.bytes
        }
        let payload = try unpadded(frame)
        let endsInput = frame.has(HTTP2WireFrame.endsStream)
        emptyDataCount = payload.readableBytes == 0 && !endsInput ? emptyDataCount + 1 : 0
        guard emptyDataCount <= Limits.emptyDataMax else { throw .connection(.enhanceYourCalm) }
        guard var stream = streams[id] else {
            if resetIDs.contains(id) { return nil }
            throw .connection(.streamClosed)
        }
        guard !stream.hasInputEnded else { throw .stream(id, .streamClosed) }
        stream.inboundLeft -= windowBytes
        guard stream.inboundLeft >= 0 else { throw .stream(id, .flowControlError) }
        if let left = stream.contentLeft {
            stream.contentLeft = left - payload.readableBytes
            guard left >= payload.readableBytes else { throw .stream(id, .protocolError) }
        }
        streams[id] = stream
        if endsInput { try endInput(id) }
        return .data(id, payload, windowBytes: windowBytes, endsInput: endsInput)
    }

    private mutating func endInput(_ id: HTTP2StreamID) throws(Mistake) {
        guard streams[id]?.contentLeft ?? 0 == 0 else { throw .stream(id, .protocolError) }
        streams[id]?.hasInputEnded = true
        if closeIfEnded(id) { following = .closed(id) }
    }

    private func unpadded(_ frame: HTTP2WireFrame) throws(Mistake) -> ByteBuffer {
        guard frame.has(HTTP2WireFrame.isPadded) else { return frame.payload }
        var payload = frame.payload
        guard let padding: UInt8 = payload.readInteger(), Int(padding) <= payload.readableBytes,
            let content = payload.readSlice(length: payload.readableBytes - Int(padding))
        else { throw .connection(.protocolError) }
        return content
    }

    private mutating func headers(_ frame: HTTP2WireFrame) throws(Mistake) -> Event? {
        guard Int(frame.id) % 2 == 1 else { throw .connection(.protocolError) }
        emptyDataCount = 0
        var block = try unpadded(frame)
        if frame.has(HTTP2WireFrame.hasPriority) {
            guard block.readableBytes >= 5 else { throw .connection(.protocolError) }
            block.moveReaderIndex(forwardBy: 5)
        }
        let endsStream = frame.has(HTTP2WireFrame.endsStream)
        guard frame.has(HTTP2WireFrame.endsHeaders) else {
            header = HeaderProgress(id: frame.id, endsStream: endsStream, block: block)
            return nil
        }
        return try headers(block, of: frame.id, endsStream: endsStream)
    }

    private mutating func continuation(_ frame: HTTP2WireFrame) throws(Mistake) -> Event? {
        guard var progress = header, progress.id == frame.id else { throw .connection(.protocolError) }
        progress.continuations += 1
        guard progress.continuations <= Limits.continuationsMax else { throw .connection(.enhanceYourCalm) }
        progress.block.writeImmutableBuffer(frame.payload)
        guard progress.block.readableBytes <= limits.headerBytesMax else { throw .connection(.compressionError) }
        guard frame.has(HTTP2WireFrame.endsHeaders) else {
            header = progress
            return nil
        }
        header = nil
        return try headers(progress.block, of: progress.id, endsStream: progress.endsStream)
    }

    private mutating func headers(
        _ block: ByteBuffer, of id: HTTP2StreamID, endsStream: Bool
    ) throws(Mistake) -> Event? {
        var block = block
        // Also of streams that are gone: the table must follow the client's.
        guard let fields = try? decoder.decodeHeaders(from: &block) else { throw .connection(.compressionError) }
        if id <= highestID { return try trailers(fields, of: id, endsStream: endsStream) }
        highestID = id
        guard HeaderRules.isRequest(fields) else { throw .stream(id, .protocolError) }
        let length = HeaderRules.contentLength(fields)
        guard length ?? 0 >= 0, !endsStream || length ?? 0 == 0 else { throw .stream(id, .protocolError) }
        guard streams.count < limits.streamsMax else { throw .stream(id, .refusedStream) }
        streams[id] = HTTP2Stream(outboundLeft: streamWindow, contentLeft: length, hasInputEnded: endsStream)
        return .call(id, fields, endsInput: endsStream)
    }

    private mutating func trailers(
        _ fields: HPACKHeaders, of id: HTTP2StreamID, endsStream: Bool
    ) throws(Mistake) -> Event? {
        guard let stream = streams[id] else {
            if resetIDs.contains(id) { return nil }
            throw .connection(.streamClosed)
        }
        guard !stream.hasInputEnded else { throw .stream(id, .streamClosed) }
        guard endsStream, HeaderRules.isTrailers(fields) else { throw .stream(id, .protocolError) }
        try endInput(id)
        return .inputEnded(id)
    }

    private mutating func resetByClient(_ frame: HTTP2WireFrame, nowMs: Int64) throws(Mistake) -> Event? {
        guard frame.payload.readableBytes == 4 else { throw .connection(.frameSizeError) }
        guard !isIdle(frame.id) else { throw .connection(.protocolError) }
        guard limits.resets.permits(nowMs: nowMs) else { throw .connection(.enhanceYourCalm) }
        if remove(frame.id) { following = .closed(frame.id) }
        return .cancelled
    }

    private mutating func windowUpdate(_ frame: HTTP2WireFrame) throws(Mistake) {
        guard frame.payload.readableBytes == 4,
            let number: UInt32 = frame.payload.getInteger(at: frame.payload.readerIndex)
        else { throw .connection(.frameSizeError) }
        let increment = Int(number & 0x7FFF_FFFF)
        let id = frame.id
        guard id != .rootStream else {
            guard increment > 0 else { throw .connection(.protocolError) }
            outboundLeft += increment
            guard outboundLeft <= Limits.windowMax else { throw .connection(.flowControlError) }
            return
        }
        guard !isIdle(id) else { throw .connection(.protocolError) }
        // The client may not know yet that the stream is over.
        guard let index = streams.index(forKey: id) else { return }
        guard increment > 0 else { throw .stream(id, .protocolError) }
        streams.values[index].outboundLeft += increment
        guard streams.values[index].outboundLeft <= Limits.windowMax else { throw .stream(id, .flowControlError) }
        becomeReady(index, id)
    }

    private mutating func controlFrame(_ frame: HTTP2WireFrame) throws(Mistake) -> Event? {
        let acknowledges = frame.has(HTTP2WireFrame.acknowledges)
        switch frame.kind {
        case .settings:
            guard frame.id == .rootStream else { throw .connection(.protocolError) }
            guard frame.payload.readableBytes % 6 == 0, !acknowledges || frame.payload.readableBytes == 0 else {
                throw .connection(.frameSizeError)
            }
            if acknowledges { return nil }
            try settings(frame.payload)
            control.writeFrameHead(
                .settings, flags: HTTP2WireFrame.acknowledges, id: .rootStream, payloadBytes: 0)
        case .ping:
            guard frame.id == .rootStream else { throw .connection(.protocolError) }
            guard frame.payload.readableBytes == 8,
                let number: UInt64 = frame.payload.getInteger(at: frame.payload.readerIndex)
            else { throw .connection(.frameSizeError) }
            if acknowledges { return .pong(number) }
            ping(number, acknowledges: true)
        case .priority:
            guard frame.id != .rootStream else { throw .connection(.protocolError) }
            guard frame.payload.readableBytes == 5 else {
                // A stream that was not begun cannot be reset.
                if isIdle(frame.id) { throw .connection(.frameSizeError) }
                throw .stream(frame.id, .frameSizeError)
            }
        default: break
        }
        return .controlFrame
    }

    private mutating func settings(_ payload: ByteBuffer) throws(Mistake) {
        guard payload.readableBytes <= 6 * Limits.settingsMax else { throw .connection(.enhanceYourCalm) }
        var payload = payload
        var window: Int?
        while let (identifier, value) = payload.readMultipleIntegers(as: (UInt16, UInt32).self) {
            switch identifier {
            case 1: mustEmptyTable = true
            case 2: guard value <= 1 else { throw .connection(.protocolError) }
            case 4:
                guard value <= UInt32(Limits.windowMax) else { throw .connection(.flowControlError) }
                window = Int(value)
            // Frames of the smallest size always fit.
            case 5: guard (16_384...16_777_215).contains(value) else { throw .connection(.protocolError) }
            default: break
            }
        }
        // All streams are visited once, whatever the frame repeats.
        if let window { try changeStreamWindow(to: window) }
    }

    /// Also changes the windows of open streams (RFC 9113 section 6.9.2).
    private mutating func changeStreamWindow(to bytes: Int) throws(Mistake) {
        let difference = bytes - streamWindow
        streamWindow = bytes
        guard difference != 0 else { return }
        for id in streams.keys.sorted() {
            guard let index = streams.index(forKey: id) else { continue }
            streams.values[index].outboundLeft += difference
            guard streams.values[index].outboundLeft <= Limits.windowMax else {
                throw .connection(.flowControlError)
            }
            becomeReady(index, id)
        }
    }

    // MARK: The end of streams

    /// Resets a stream, open or not.
    /// - Returns: whether it was open.
    mutating func reset(_ id: HTTP2StreamID, _ code: HTTP2ErrorCode) -> Bool {
        control.writeFrameHead(.resetStream, id: id, payloadBytes: 4)
        control.writeInteger(UInt32(code.networkCode))
        resetIDs.insert(id, max: max(limits.streamsMax, limits.resetIDsMin))
        return remove(id)
    }

    /// - Returns: whether both sides have ended the stream, which is removed.
    mutating func closeIfEnded(_ id: HTTP2StreamID) -> Bool {
        guard let stream = streams[id], stream.hasInputEnded, stream.hasOutputEnded else { return false }
        return remove(id)
    }

    /// - Returns: whether the stream was open.
    private mutating func remove(_ id: HTTP2StreamID) -> Bool { streams.removeValue(forKey: id) != nil }
}

/// The streams that came last, up to a maximum.
private struct RecentStreams {
    private var ids: Set<HTTP2StreamID> = []
    /// The same in the order of their coming, from `oldest` on and around.
    private var order: [HTTP2StreamID] = []
    private var oldest = 0

    func contains(_ id: HTTP2StreamID) -> Bool { ids.contains(id) }

    mutating func insert(_ id: HTTP2StreamID, max: Int) {
        guard ids.insert(id).inserted else { return }
        guard order.count >= max else { return order.append(id) }
        ids.remove(order[oldest])
        order[oldest] = id
        oldest = (oldest + 1) % max
    }
}
