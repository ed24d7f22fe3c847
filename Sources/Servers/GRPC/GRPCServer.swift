package import HTTPServer
import NIOCore
import NIOHTTP2
import Synchronization

/// gRPC on the port of `HTTPServer`: takes over connections that begin with the HTTP/2 preface.
///
/// Hand-written above NIO's HTTP/2 because gRPC shares its port with HTTP/1.1, encoded results are shared by many
/// calls, and each call has its own stall limit.
package final class GRPCServer: Sendable {
    private let configuration: GRPCConfiguration
    private let handler: any GRPCHandler
    /// Bounded by the HTTP server's `connectionsMax`.
    private let connections = Mutex<[ObjectIdentifier: Entry]>([:])

    private struct Entry: Sendable {
        let eventLoop: any EventLoop
        let connection: NIOLoopBound<GRPCConnection>
    }

    package init(configuration: GRPCConfiguration, handler: any GRPCHandler) {
        self.configuration = configuration
        self.handler = handler
    }

    package var connectionCount: Int { connections.withLock { $0.count } }

    /// Installs gRPC on a connection, for `HTTPServer(http2:)`.
    package var setup: HTTP2Setup {
        { [self] channel, server in try install(on: channel, server) }
    }

    private func install(on channel: any Channel, _ server: HandoverContext) throws {
        let identity = ObjectIdentifier(channel)
        let connection = GRPCConnection(
            channel, configuration: configuration, application: handler, server: server
        ) { [self] in
            _ = connections.withLock { $0.removeValue(forKey: identity) }
        }
        var http2 = NIOHTTP2Handler.ConnectionConfiguration()
        http2.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: configuration.callsMax),
            HTTP2Setting(parameter: .maxHeaderListSize, value: configuration.headerBytesMax),
        ]
        // Frames in flight to a call that was reset are no error, however many.
        http2.maximumRecentlyResetStreams = configuration.callsMax
        // Errors are limited by their rate (200 in 30 s): a limit on their total would eventually end a proxy's
        // connection.
        http2.maximumConnectionGlitches = .max
        if configuration.controlFramesPerSecond > 0 {
            // The connection slows its peer before that.
            http2.controlFrameRateLimit.maximumCount = 5 * configuration.controlFramesPerSecond
            http2.controlFrameRateLimit.windowLength = .seconds(1)
        }
        var streams = NIOHTTP2Handler.StreamConfiguration()
        streams.streamResetFrameRateLimit.maximumCount = configuration.cancellationsMax
        streams.streamResetFrameRateLimit.windowLength = .seconds(2)
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(
            NIOHTTP2Handler(
                mode: .server, frameDelegate: connection, connectionConfiguration: http2, streamConfiguration: streams))
        try pipeline.addHandler(connection)
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
