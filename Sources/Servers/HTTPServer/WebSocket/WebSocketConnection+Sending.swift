package import NIOCore

/// Writes frames: messages, shared results and control frames.
extension WebSocketConnection {
    /// Sends one text frame. The bytes must be valid UTF-8; they are not copied if they have to wait.
    package func send(text: ByteBuffer) {
        send(FrameHeader.text, prefix: [], shared: text, suffix: [])
    }

    /// Sends one text frame with a result for this connection alone, compressed if the client accepts that.
    package func send(result text: ByteBuffer) {
        if let deflateWindow, let compression = transport.table.compression, isOpen,
            case .compressed(let segment) = compression.segment(of: text, deflateWindow)
        {
            sendCompressed(prefix: [], segment)
        } else {
            send(text: text)
        }
    }

    /// Sends one binary frame.
    package func send(binary: ByteBuffer) {
        send(FrameHeader.binary, prefix: [], shared: binary, suffix: [])
    }

    /// Sends one text frame with the payload `prefix`, `shared` and `suffix` back to back: a result shared by many
    /// sessions in the envelope of each. `shared` is never copied into memory that stays.
    package func send(prefix: [UInt8], shared: ByteBuffer, suffix: [UInt8] = []) {
        send(FrameHeader.text, prefix: prefix, shared: shared, suffix: suffix)
    }

    /// Sends one text frame with the payload `prefix` and `shared`. The body is compressed once for all connections.
    package func send(prefix: [UInt8], shared: SharedBody) {
        if let segment = segment(of: shared) {
            sendCompressed(prefix: prefix, segment)
        } else {
            send(FrameHeader.text, prefix: prefix, shared: shared.bytes, suffix: [])
        }
    }

    /// Returns a frame with `prefix` and `shared`, for many connections with the same window; nil if this connection
    /// gets the body as it is.
    package func compressedFrame(prefix: @autoclosure () -> [UInt8], shared: SharedBody) -> EncodedTextFrame? {
        segment(of: shared).map { EncodedTextFrame(prefix: prefix(), $0) }
    }

    private func segment(of shared: SharedBody) -> DeflateSegment? {
        guard let deflateWindow, let compression = transport.table.compression else { return nil }
        return shared.segment(deflateWindow, compression)
    }

    /// Sends a frame that is identical for many connections. A compressed one is for those with its window.
    package func send(_ frame: EncodedTextFrame) {
        eventLoopAssert()
        guard isOpen else { return }
        if let plainBytes = frame.plainBytes {
            transport.table.compression?.sent(plainBytes: plainBytes, sentBytes: frame.byteCount)
        }
        transport.write(frame.bytes)
    }

    private func sendCompressed(prefix: [UInt8], _ segment: DeflateSegment) {
        eventLoopAssert()
        guard isOpen else { return }
        let stored = DeflateBlocks.storedBytes(prefix.count)
        let length = stored + segment.messageEnd.readableBytes
        withUnsafeTemporaryAllocation(byteCount: FrameHeader.bytesMax + stored, alignment: 8) { head in
            let size = FrameHeader.write(
                FrameHeader.text | FrameHeader.compressed, length: length, to: head.baseAddress!)
            prefix.withUnsafeBytes { if $0.count > 0 { DeflateBlocks.store($0, to: head.baseAddress! + size) } }
            transport.table.compression?.sent(
                plainBytes: prefix.count + segment.plainBytes, sentBytes: size + length)
            transport.write(
                head: UnsafeRawBufferPointer(rebasing: head[..<(size + stored)]), shared: segment.messageEnd, tail: [])
        }
    }

    /// Gathers the sends of `body` into as few system calls as possible.
    package func gathered(_ body: () -> Void) {
        eventLoopAssert()
        transport.gathered(body)
    }

    private func send(_ first: UInt8, prefix: [UInt8], shared: ByteBuffer, suffix: [UInt8]) {
        eventLoopAssert()
        guard isOpen else { return }
        let length = prefix.count + shared.readableBytes + suffix.count
        withUnsafeTemporaryAllocation(byteCount: FrameHeader.bytesMax + prefix.count, alignment: 8) { head in
            let size = FrameHeader.write(first, length: length, to: head.baseAddress!)
            prefix.withUnsafeBytes {
                if $0.count > 0 {
                    (head.baseAddress! + size).copyMemory(from: $0.baseAddress!, byteCount: $0.count)
                }
            }
            transport.write(
                head: UnsafeRawBufferPointer(rebasing: head[..<(size + prefix.count)]), shared: shared, tail: suffix)
        }
    }

    func sendControl(_ first: UInt8, _ payload: some Sequence<UInt8>) {
        var frame = ByteBuffer()
        frame.writeBytes([first, 0])
        let length = frame.writeBytes(payload)
        frame.setInteger(UInt8(length), at: 1)
        transport.write(frame)
    }

    /// Sends a ping in addition to the periodic ones.
    package func ping() {
        eventLoopAssert()
        if isOpen { sendControl(FrameHeader.ping, []) }
    }

    /// Sends a close frame.
    func sendClose(_ code: UInt16, _ reason: String) {
        var reason = reason
        while reason.utf8.count > 123 { reason.removeLast() }
        sendControl(FrameHeader.close, [UInt8(code >> 8), UInt8(code & 0xFF)] + Array(reason.utf8))
    }

    @inline(__always)
    func eventLoopAssert() {
        assert(transport.channel.eventLoop.inEventLoop, "WebSocketConnection used outside its event loop")
    }
}
