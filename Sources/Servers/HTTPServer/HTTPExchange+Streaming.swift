package import NIOCore
package import NIOHTTP1

/// Responses of unknown length, compressed or not.
extension HTTPExchange {
    /// Starts a response of unknown length (SSE, multipart).
    package func startStream(
        _ status: HTTPResponseStatus, headers: HTTPHeaders = [:], as kind: ResponseKind = .other
    ) {
        onLoop { $0.startNow(status, headers, kind) }
    }

    /// Sends one chunk of a stream at once, which is no result: it is never compressed. The bytes are not copied if
    /// they have to wait, except in a stream of gzip.
    package func write(_ chunk: ByteBuffer) {
        onLoop { exchange in
            if exchange.gzip == nil { exchange.writeNow(chunk) } else { exchange.writeGzip(.init(storing: chunk)) }
        }
    }

    /// Sends one chunk that consists of its own prefix and of bytes shared by many responses.
    package func write(prefix: [UInt8] = [], shared: SharedBody) {
        onLoop { exchange in
            if exchange.gzip == nil {
                exchange.writeNow(prefix: prefix, shared.bytes)
            } else if let compression = exchange.compression {
                exchange.writeGzip(prefix: prefix, shared.gzipSegment(compression))
            }
        }
    }

    /// Completes a stream.
    package func end() {
        onLoop { $0.endNow() }
    }

    var compression: LoopCompression? { transport.table.compression }

    /// Whether responses depend on `Accept-Encoding`.
    package var compressesResults: Bool { compression != nil }

    /// Returns a body as a whole gzip file; nil to send it as it is. On the event loop.
    package func gzip(_ body: SharedBody) -> ByteBuffer? {
        eventLoop.assertInEventLoop()
        guard prefersGzip, let compression else { return nil }
        return body.segment(.large, compression).map(LoopCompression.gzip)
    }

    // MARK: On the event loop

    private func startNow(_ status: HTTPResponseStatus, _ headers: HTTPHeaders, _ kind: ResponseKind) {
        guard case .waiting = phase else { return misuse("responded twice") }
        var headers = headers
        if compression != nil, kind.mayBeCompressed {
            headers.addVary("Accept-Encoding")
            if prefersGzip {
                headers.replaceOrAdd(name: "content-encoding", value: "gzip")
                gzip = GzipStream()
            }
        }
        let chunked = !isHTTP10
        if !chunked { keepAlive = false }
        settleKeepAlive(headers)
        phase = .streaming(chunked: chunked)
        let noBody = ResponseHead.hasNoBody(status)
        sendHead(status, headers, noBody ? .none : chunked ? .chunked : .untilClose, body: nil)
        if inputHasEnded { closeUnfinishedStream() }
        transport.owner?.responseTakesLong()
    }

    /// Closes on the loop's next turn: a stream that ends by itself, such as a query that runs once, is complete by
    /// then.
    func closeUnfinishedStream() {
        let transport = transport
        eventLoop.assumeIsolated().execute { [self] in
            if case .streaming = phase { transport.channel.close(promise: nil) }
        }
    }

    private func writeNow(prefix: [UInt8] = [], _ chunk: ByteBuffer) {
        guard case .streaming(let chunked) = phase else { return misuse("wrote outside a stream") }
        let length = prefix.count + chunk.readableBytes
        if isHead || length == 0 { return }
        let head = chunked ? Array((String(length, radix: 16) + "\r\n").utf8) + prefix : prefix
        head.withUnsafeBytes { transport.write(head: $0, shared: chunk, tail: chunked ? [0x0D, 0x0A] : []) }
    }

    private func writeGzip(prefix: [UInt8] = [], _ segment: DeflateSegment) {
        guard case .streaming(let chunked) = phase else { return misuse("wrote outside a stream") }
        if isHead || prefix.count + segment.plainBytes == 0 { return }
        guard let before = gzip?.append(prefix: prefix, segment) else { return }
        let length = before.count + segment.blocks.readableBytes
        if segment.isCompressed {
            compression?.sent(plainBytes: prefix.count + segment.plainBytes, sentBytes: length)
        }
        let head = chunked ? Array((String(length, radix: 16) + "\r\n").utf8) + before : before
        head.withUnsafeBytes { transport.write(head: $0, shared: segment.blocks, tail: chunked ? [0x0D, 0x0A] : []) }
    }

    private func endNow() {
        guard case .streaming(let chunked) = phase else { return misuse("ended outside a stream") }
        if var last = gzip {
            gzip = nil
            writeNow(ByteBuffer(bytes: last.end()))
        }
        if chunked, !isHead { transport.write(ByteBuffer(staticString: "0\r\n\r\n")) }
        finish()
    }
}
