package import NIOCore

/// Writes frames: messages, shared results and control frames.
extension WebSocketConnection {
    /// Sends one text frame. The bytes must be valid UTF-8; they are not copied if they have to wait.
    package func send(text: ByteBuffer) {
        send(FrameHeader.text, prefix: [], shared: text, suffix: [])
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

    /// Sends a frame that is identical for many connections.
    package func send(_ frame: EncodedTextFrame) {
        eventLoopAssert()
        if isOpen { transport.write(frame.bytes) }
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
