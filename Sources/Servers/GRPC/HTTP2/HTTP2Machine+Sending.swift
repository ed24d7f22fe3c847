import NIOCore
import NIOHPACK
import NIOHTTP2

/// Sends control frames at once, data as far as the client's windows permit, streams in turn.
extension HTTP2Machine {
    /// Frames of one write.
    struct Batch {
        var byteCount = 0
        /// The data of each stream, without heads.
        var data: [(id: HTTP2StreamID, byteCount: Int)] = []
        /// Streams that are over with this write.
        var closed: [HTTP2StreamID] = []
    }

    mutating func ping(_ number: UInt64, acknowledges: Bool = false) {
        control.writeFrameHead(
            .ping, flags: acknowledges ? HTTP2WireFrame.acknowledges : 0, id: .rootStream, payloadBytes: 8)
        control.writeInteger(number)
    }

    mutating func goAway(_ lastID: HTTP2StreamID, _ code: HTTP2ErrorCode) {
        control.writeFrameHead(.goAway, id: .rootStream, payloadBytes: 8)
        control.writeInteger(UInt32(Int(lastID)))
        control.writeInteger(UInt32(code.networkCode))
    }

    /// Returns bytes to the window of a stream.
    mutating func opened(_ id: HTTP2StreamID, by increment: Int) {
        guard streams[id] != nil else { return }
        streams[id]?.inboundLeft += increment
        windowUpdate(increment, on: id)
    }

    mutating func windowUpdate(_ increment: Int, on id: HTTP2StreamID) {
        control.writeFrameHead(.windowUpdate, id: id, payloadBytes: 4)
        control.writeInteger(UInt32(increment))
    }

    /// Sends the first header fields of a stream.
    mutating func sendHeaders(_ fields: HPACKHeaders, on id: HTTP2StreamID) {
        guard streams[id] != nil else { return }
        writeHeaders(fields, on: id, endsStream: false)
    }

    /// Appends data to what waits.
    mutating func send(_ bytes: ByteBuffer, on id: HTTP2StreamID) {
        guard let index = streams.index(forKey: id) else { return }
        streams.values[index].append(bytes)
        becomeReady(index, id)
    }

    /// Ends the output of a stream after its data.
    /// - Returns: whether the stream is over.
    mutating func end(_ trailers: HPACKHeaders, on id: HTTP2StreamID) -> Bool {
        guard let index = streams.index(forKey: id) else { return false }
        guard !streams.values[index].hasWaitingData else {
            streams.values[index].trailers = trailers
            return false
        }
        writeHeaders(trailers, on: id, endsStream: true)
        streams.values[index].hasOutputEnded = true
        return closeIfEnded(id)
    }

    private mutating func writeHeaders(_ fields: HPACKHeaders, on id: HTTP2StreamID, endsStream: Bool) {
        var block = ByteBuffer()
        if mustEmptyTable { block.writeInteger(HeaderBlock.emptyTable) }
        mustEmptyTable = false
        HeaderBlock.write(fields, to: &block)
        // Messages of statuses are cut long before that.
        precondition(block.readableBytes <= HTTP2WireFrame.payloadBytesMax, "a header block of \(block.readableBytes)")
        control.writeFrameHead(
            .headers, flags: HTTP2WireFrame.endsHeaders | (endsStream ? HTTP2WireFrame.endsStream : 0), id: id,
            payloadBytes: block.readableBytes)
        control.writeImmutableBuffer(block)
    }

    mutating func becomeReady(_ index: Dictionary<HTTP2StreamID, HTTP2Stream>.Index, _ id: HTTP2StreamID) {
        let stream = streams.values[index]
        guard stream.hasWaitingData, stream.outboundLeft > 0, !stream.isReady else { return }
        streams.values[index].isReady = true
        if ready.count > 2 * streams.count + Self.readySlack {
            ready = ready[readyStart...].filter { $0 != id && streams[$0]?.isReady == true }
            readyStart = 0
        }
        ready.append(id)
    }

    /// Written bytes of `control` that are not worth moving the rest.
    private static let controlSlack = 32 << 10
    /// Entries of `ready` that are not worth removing.
    private static let readySlack = 16

    /// Reserves the windows for one DATA frame that the caller writes itself, before anything else.
    /// - Returns: false if something is to be written before it, or the windows or the frame size do not permit it.
    mutating func reserve(_ byteCount: Int, on id: HTTP2StreamID) -> Bool {
        guard control.readableBytes == 0, outboundLeft >= byteCount, byteCount <= HTTP2WireFrame.payloadBytesMax,
            let index = streams.index(forKey: id)
        else { return false }
        guard streams.values[index].outboundLeft >= byteCount, !streams.values[index].hasWaitingData,
            !streams.values[index].hasOutputEnded
        else { return false }
        streams.values[index].outboundLeft -= byteCount
        outboundLeft -= byteCount
        return true
    }

    /// Writes the next frames to `memory`, as many as fit.
    mutating func fill(_ memory: UnsafeMutableRawBufferPointer) -> Batch {
        var batch = Batch()
        takeControl(into: memory, &batch)
        // A frame of a few bytes is not worth its head.
        while control.readableBytes == 0, outboundLeft > 0, memory.count - batch.byteCount > 1_024,
            let id = nextReady()
        {
            let rest = memory.count - batch.byteCount - HTTP2WireFrame.headBytes
            guard let index = streams.index(forKey: id) else { continue }
            let permitted = min(streams.values[index].outboundLeft, outboundLeft, HTTP2WireFrame.payloadBytesMax, rest)
            let head = memory.baseAddress! + batch.byteCount
            let count = streams.values[index].take(
                into: UnsafeMutableRawBufferPointer(start: head + HTTP2WireFrame.headBytes, count: permitted))
            HTTP2WireFrame.writeHead(.data, id: id, payloadBytes: count, to: head)
            streams.values[index].outboundLeft -= count
            outboundLeft -= count
            batch.byteCount += HTTP2WireFrame.headBytes + count
            batch.data.append((id, count))
            if streams.values[index].hasWaitingData {
                becomeReady(index, id)
            } else if let trailers = streams.values[index].trailers {
                streams.values[index].trailers = nil
                if end(trailers, on: id) { batch.closed.append(id) }
                takeControl(into: memory, &batch)
            }
        }
        return batch
    }

    private mutating func takeControl(into memory: UnsafeMutableRawBufferPointer, _ batch: inout Batch) {
        let count = min(control.readableBytes, memory.count - batch.byteCount)
        guard count > 0 else { return }
        control.readWithUnsafeReadableBytes { bytes in
            (memory.baseAddress! + batch.byteCount).copyMemory(from: bytes.baseAddress!, byteCount: count)
            return count
        }
        batch.byteCount += count
        if control.readableBytes == 0 {
            control = ByteBuffer()
        } else if control.readerIndex >= Self.controlSlack {
            // The buffer would otherwise keep what was written, however often more comes.
            control.discardReadBytes()
        }
    }

    /// Takes the stream whose turn it is.
    private mutating func nextReady() -> HTTP2StreamID? {
        while readyStart < ready.count {
            let id = ready[readyStart]
            readyStart += 1
            if readyStart == ready.count { (ready, readyStart) = ([], 0) }
            guard let index = streams.index(forKey: id) else { continue }
            streams.values[index].isReady = false
            if streams.values[index].hasWaitingData, streams.values[index].outboundLeft > 0 { return id }
        }
        return nil
    }
}
