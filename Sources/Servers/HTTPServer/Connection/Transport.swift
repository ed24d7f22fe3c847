import Clocks
import Glibc
import NIOCore
import NIOPosix
import Synchronization

/// The write side of one connection; it bypasses NIO where possible.
///
/// A result for thousands of sessions is thousands of small writes, and NIO's path (pipeline, pending-write queue,
/// promise, flush) costs half as much again as the system call itself. So while NIO holds nothing for this socket,
/// bytes go straight to `send(2)`. What the kernel does not accept goes to `channel.write`, and later bytes follow it
/// there until NIO has written everything. Order is kept because only one path is open at a time: the direct one
/// requires `pendingBytes` to be 0.
///
/// NIO owns the descriptor and closes it on this loop. A failed write is the first sign of that, so it disables the
/// direct path before a descriptor can be used that may have been reused.
///
/// Owned by its event loop, except `pendingBytes`, which any thread may read.
final class Transport {
    /// Queued data goes to NIO in slices of this size, so that a slow peer's progress is visible.
    private static let sliceBytes = 64 * 1024

    let channel: any Channel
    let table: ConnectionTable
    var owner: (any ConnectionOwner)?
    /// Index in `table`; -1 when not in it.
    var slot = -1
    /// The time at which queued bytes last advanced; meaningful while `pendingBytes` > 0.
    private(set) var progressMs: Int64 = 0
    /// Whether writing has ended: closed, cut off or failed.
    private(set) var isDead = false
    private var descriptor: CInt
    private var gathering = Gathering.off
    private let pending = Atomic<Int>(0)
    /// True during `flush`: the owner is then notified of progress on the loop's next turn, not inside its own write.
    private var isFlushing = false
    private var progressedWhileFlushing = false

    private enum Gathering {
        case off
        /// Writes are assembled in the loop's scratch memory for one `send`.
        case scratch(bytes: Int)
        /// Writes go to NIO and are flushed at the end.
        case channel
    }

    /// - Parameter direct: whether to bypass NIO; false if handlers below, such as TLS, must see the bytes.
    init(channel: any Channel, table: ConnectionTable, direct: Bool) {
        self.channel = channel
        self.table = table
        let handle =
            direct
            ? try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) { $0 }
            : nil
        descriptor = handle ?? -1
    }

    /// Bytes accepted from the application that the kernel has not taken yet.
    var pendingBytes: Int { pending.load(ordering: .relaxed) }

    func write(_ bytes: ByteBuffer) {
        write(head: UnsafeRawBufferPointer(start: nil, count: 0), shared: bytes, tail: [])
    }

    /// Writes `head`, `shared` and `tail` back to back; `shared` is not copied if it has to wait.
    func write(head: UnsafeRawBufferPointer, shared: ByteBuffer, tail: [UInt8]) {
        if isDead { return }
        let total = head.count + shared.readableBytes + tail.count
        var sent = 0
        if case .scratch(let bytes) = gathering, bytes + total > table.scratch.count {
            sendScratch(bytes)
            if total <= table.scratch.count, isDirect { claimScratch() }
        }
        if case .scratch(let bytes) = gathering {
            copy(head: head, shared: shared, tail: tail, to: table.scratch.baseAddress! + bytes)
            gathering = .scratch(bytes: bytes + total)
            return
        }
        if isDirect {
            sent = sendNow(head: head, shared: shared, tail: tail, total: total)
            if sent == total { return }
            if sent < 0 {
                abort()
                return
            }
        }
        enqueue(head: head, shared: shared, tail: tail, skip: sent)
    }

    private var isDirect: Bool {
        guard descriptor >= 0, pendingBytes == 0, !isDead else { return false }
        return if case .off = gathering { true } else { false }
    }

    /// Gathers the writes of `body` to this connection into as few system calls as possible.
    func gathered(_ body: () -> Void) {
        guard case .off = gathering else { return body() }
        if isDirect, table.scratchIsFree {
            claimScratch()
        } else {
            gathering = .channel
        }
        body()
        if case .scratch(let bytes) = gathering { sendScratch(bytes) }
        gathering = .off
        if pendingBytes > 0 { flush() }
    }

    private func claimScratch() {
        gathering = .scratch(bytes: 0)
        table.scratchIsFree = false
    }

    /// Sends the gathered bytes; if some remain, later writes of the same gathering go to NIO.
    private func sendScratch(_ bytes: Int) {
        gathering = .off
        defer { table.scratchIsFree = true }
        let gathered = UnsafeRawBufferPointer(rebasing: table.scratch[..<bytes])
        let taken = bytes == 0 || isDead ? bytes : attempt { send(descriptor, gathered.baseAddress, bytes, $0) }
        if taken < 0 {
            abort()
        } else if taken < bytes {
            gathering = .channel
            enqueue(head: gathered, shared: ByteBuffer(), tail: [], skip: taken)
        }
    }

    /// Closes the connection at once. The owner is notified on the loop's next turn, never inside the caller's write.
    func abort() {
        guard !isDead else { return }
        isDead = true
        let channel = channel
        channel.eventLoop.execute { channel.close(promise: nil) }
    }

    /// Called when the channel is closed.
    func closed() {
        isDead = true
        descriptor = -1
        owner = nil
        guard slot >= 0 else { return }
        table.remove(self)
        table.context.counters.connectionsOpen.decrement()
    }

    /// Closes the write side (FIN) after what is pending. Reading continues.
    func closeOutput() {
        guard !isDead else { return }
        isDead = true
        channel.close(mode: .output, promise: nil)
    }

    /// The time at which a peer that accepts nothing is cut off; nil while nothing is pending.
    var stallDeadlineMs: Int64? {
        pendingBytes == 0 ? nil : progressMs + table.context.configuration.writeStallTimeoutMs
    }

    /// Sends directly to the socket; returns the same as `attempt`.
    private func sendNow(head: UnsafeRawBufferPointer, shared: ByteBuffer, tail: [UInt8], total: Int) -> Int {
        if head.count == 0, tail.isEmpty {
            return shared.withUnsafeReadableBytes { bytes in
                attempt { send(descriptor, bytes.baseAddress, bytes.count, $0) }
            }
        }
        if total <= table.scratch.count, table.scratchIsFree {
            // Copying a small result is cheaper than the kernel's walk over an iovec.
            copy(head: head, shared: shared, tail: tail, to: table.scratch.baseAddress!)
            return attempt { send(descriptor, table.scratch.baseAddress, total, $0) }
        }
        return shared.withUnsafeReadableBytes { middle in
            tail.withUnsafeBytes { end in
                withUnsafeTemporaryAllocation(of: iovec.self, capacity: 3) { vectors in
                    for (index, part) in [head, middle, end].enumerated() {
                        vectors[index] = iovec(
                            iov_base: UnsafeMutableRawPointer(mutating: part.baseAddress), iov_len: part.count)
                    }
                    var message = msghdr()
                    message.msg_iov = vectors.baseAddress
                    message.msg_iovlen = 3
                    return attempt { sendmsg(descriptor, &message, $0) }
                }
            }
        }
    }

    /// - Returns: the bytes the kernel accepted; -1 if the connection is broken.
    private func attempt(_ call: (CInt) -> Int) -> Int {
        let taken = call(CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL))
        if taken >= 0 { return taken }
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ENOBUFS ? 0 : -1
    }

    private func copy(
        head: UnsafeRawBufferPointer, shared: ByteBuffer, tail: [UInt8], to memory: UnsafeMutableRawPointer
    ) {
        var at = memory
        func add(_ bytes: UnsafeRawBufferPointer) {
            guard let base = bytes.baseAddress else { return }
            at.copyMemory(from: base, byteCount: bytes.count)
            at += bytes.count
        }
        add(head)
        shared.withUnsafeReadableBytes(add)
        tail.withUnsafeBytes(add)
    }

    private func enqueue(head: UnsafeRawBufferPointer, shared: ByteBuffer, tail: [UInt8], skip: Int) {
        let count = head.count + shared.readableBytes + tail.count - skip
        let before = pendingBytes
        if before > 0, before + count > table.context.configuration.pendingBytesMax {
            table.context.counters.peersCutOffTotal.increment()
            abort()
            return
        }
        if before == 0 {
            progressMs = MonotonicClock.nowMs()
            table.expect(self, by: progressMs + table.context.configuration.writeStallTimeoutMs)
        }
        var skip = skip
        if skip < head.count {
            writeToChannel(channel.allocator.buffer(bytes: head.dropFirst(skip)))
            skip = 0
        } else {
            skip -= head.count
        }
        var rest = shared
        let skippedHere = min(skip, rest.readableBytes)
        rest.moveReaderIndex(forwardBy: skippedHere)
        skip -= skippedHere
        while let slice = rest.readSlice(length: min(rest.readableBytes, Self.sliceBytes)), slice.readableBytes > 0 {
            writeToChannel(slice)
        }
        if skip < tail.count { writeToChannel(channel.allocator.buffer(bytes: tail.dropFirst(skip))) }
        if case .off = gathering { flush() }
    }

    private func flush() {
        isFlushing = true
        channel.flush()
        isFlushing = false
        guard progressedWhileFlushing else { return }
        progressedWhileFlushing = false
        channel.eventLoop.assumeIsolated().execute { [self] in owner?.pendingBytesDecreased() }
    }

    private func writeToChannel(_ bytes: ByteBuffer) {
        let count = bytes.readableBytes
        pending.wrappingAdd(count, ordering: .relaxed)
        let promise = channel.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenComplete { [self] result in
            pending.wrappingSubtract(count, ordering: .relaxed)
            switch result {
            case .success:
                progressMs = MonotonicClock.nowMs()
                if isFlushing {
                    progressedWhileFlushing = true
                } else {
                    owner?.pendingBytesDecreased()
                }
            case .failure:
                // The socket is closed: nothing may be sent to this descriptor any more.
                isDead = true
                descriptor = -1
            }
        }
        channel.write(bytes, promise: promise)
    }
}

@available(*, unavailable)
extension Transport: Sendable {}
