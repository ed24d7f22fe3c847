package import HTTPServer
import NIOCore
import NIOHPACK
import Synchronization

/// gRPC on the port of `HTTPServer`: takes over connections that begin with the HTTP/2 preface.
///
/// Hand-written because gRPC shares its port with HTTP/1.1, encoded results are shared by many calls, each call has its
/// own stall limit, and idle connections must be small.
package final class GRPCServer: Sendable {
    private let configuration: GRPCConfiguration
    private let handler: any GRPCHandler
    /// Bounded by the HTTP server's `connectionsMax`.
    private let connections = Mutex<[ObjectIdentifier: Entry]>([:])

    /// One for each event loop.
    private let scratches = Mutex<[ObjectIdentifier: WriteScratch]>([:])
    /// Copied for each connection, which shares the memory of its tables until its client adds entries.
    private let decoder: HPACKDecoder

    private struct Entry: Sendable {
        let eventLoop: any EventLoop
        let connection: NIOLoopBound<GRPCConnection>
    }

    package init(configuration: GRPCConfiguration, handler: any GRPCHandler) {
        self.configuration = configuration
        self.handler = handler
        decoder = HPACKDecoder(
            allocator: ByteBufferAllocator(), maxDynamicTableSize: HPACKDecoder.maxDynamicTableSize,
            maxHeaderListSize: configuration.headerBytesMax)
    }

    package var connectionCount: Int { connections.withLock { $0.count } }

    /// Installs gRPC on a connection, for `HTTPServer(http2:)`.
    package var setup: HTTP2Setup {
        { [self] channel, server in try install(on: channel, server) }
    }

    private func install(on channel: any Channel, _ server: HandoverContext) throws {
        let identity = ObjectIdentifier(channel)
        let scratch = scratches.withLock { scratches in
            let key = ObjectIdentifier(channel.eventLoop)
            if let known = scratches[key] { return known }
            let scratch = WriteScratch()
            scratches[key] = scratch
            return scratch
        }
        let connection = GRPCConnection(
            channel, configuration: configuration, application: handler, server: server,
            http2: HTTP2Machine(configuration.http2Limits, decoder: decoder), scratch: scratch
        ) { [self] in
            _ = connections.withLock { $0.removeValue(forKey: identity) }
        }
        try channel.pipeline.syncOperations.addHandler(connection)
        let entry = Entry(
            eventLoop: channel.eventLoop, connection: NIOLoopBound(connection, eventLoop: channel.eventLoop))
        connections.withLock { $0[identity] = entry }
    }

    /// Asks every client to make new calls elsewhere; running calls finish.
    package func goAway() {
        for entry in connections.withLock({ Array($0.values) }) {
            entry.eventLoop.execute { entry.connection.value.goAway() }
        }
    }
}

/// Memory in which the frames of one write are assembled; shared by the connections of an event loop.
///
/// `@unchecked Sendable`: only its event loop uses the memory.
final class WriteScratch: @unchecked Sendable {
    /// Also the largest write, of which a connection keeps a copy of what the socket does not take.
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 32 << 10, alignment: 64)

    deinit { memory.deallocate() }
}

extension GRPCConfiguration {
    fileprivate var http2Limits: HTTP2Machine.Limits {
        // The connection slows its peer before the limit on control frames.
        HTTP2Machine.Limits(
            streamsMax: callsMax, headerBytesMax: headerBytesMax,
            resets: EventLimit(eventsMax: cancellationsMax, windowMs: 2_000),
            controlFrames: controlFramesPerSecond > 0
                ? EventLimit(eventsMax: 5 * controlFramesPerSecond, windowMs: 1_000)
                : EventLimit(eventsMax: 200, windowMs: 30_000))
    }
}
