import AsyncHTTPClient
public import FreshetTransport
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// Sockets and requests over SwiftNIO, for Linux.
public final class NIOTransport: Transport {
    /// Sizes that are refused when exceeded.
    public static let messageBytesMax = 64 << 20

    private let endpoint: ServerEndpoint
    private let client: HTTPClient
    private let sockets: NIOSockets

    /// - Throws: if the file of authorities cannot be used.
    public init(_ endpoint: ServerEndpoint, trust: ServerTrust = .system) throws {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        switch trust {
        case .system: break
        case .authorities(let file): tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(file))
        }
        self.endpoint = endpoint
        var configuration = HTTPClient.Configuration(tlsConfiguration: tls)
        configuration.httpVersion = .http1Only
        configuration.connectionPool.idleTimeout = .seconds(30)
        // Each query that is followed without a WebSocket occupies a connection; the SDK bounds their number.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 128
        // The SDK decides what is tried again.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout.connect = .seconds(10)
        client = HTTPClient(
            eventLoopGroupProvider: .shared(.singletonMultiThreadedEventLoopGroup), configuration: configuration)
        var socketTLS = tls
        socketTLS.applicationProtocols = ["http/1.1"]
        sockets = NIOSockets(
            endpoint, context: endpoint.isSecure ? try NIOSSLContext(configuration: socketTLS) : nil,
            messageBytesMax: Self.messageBytesMax)
    }

    deinit {
        // After `close`, this does nothing.
        let client = client
        client.shutdown { _ in }
    }

    public func connect(
        path: String, subprotocol: String, onEvent: @escaping @Sendable (SocketEvent) -> Void
    ) -> any SocketConnection {
        sockets.connect(path: path, subprotocol: subprotocol, onEvent: onEvent)
    }

    public func send(_ request: TransportRequest) async throws(TransportFailure) -> TransportResponse {
        do {
            return try await withThrowingTaskGroup(of: TransportResponse.self) { group in
                defer { group.cancelAll() }
                group.addTask {
                    let response = try await self.client.execute(
                        self.message(request), timeout: .milliseconds(request.timeoutMs))
                    return try await Self.collected(response)
                }
                // The client's timeout ends with the head.
                group.addTask {
                    try await Task.sleep(for: .milliseconds(request.timeoutMs))
                    throw TransportFailure(.timeout, "no answer in time")
                }
                guard let response = try await group.next() else { throw CancellationError() }
                return response
            }
        } catch {
            throw Self.failure(error)
        }
    }

    public func stream(
        _ request: TransportRequest, onPart: @escaping @Sendable ([UInt8]) async -> Void
    ) async throws(TransportFailure) -> TransportResponse {
        do {
            let response = try await client.execute(message(request), timeout: .milliseconds(request.timeoutMs))
            guard response.status == .ok else { return try await Self.collected(response) }
            for try await part in response.body { await onPart(Array(part.readableBytesView)) }
            return TransportResponse(status: 200, headers: Self.headers(response), body: [])
        } catch {
            throw Self.failure(error)
        }
    }

    private func message(_ request: TransportRequest) -> HTTPClientRequest {
        var message = HTTPClientRequest(url: endpoint.description + request.path)
        message.method = HTTPMethod(rawValue: request.method)
        for header in request.headers { message.headers.add(name: header.name, value: header.value) }
        if !request.body.isEmpty { message.body = .bytes(request.body) }
        return message
    }

    private static func headers(_ response: HTTPClientResponse) -> [String: String] {
        var headers: [String: String] = [:]
        for header in response.headers where headers[header.name.lowercased()] == nil {
            headers[header.name.lowercased()] = header.value
        }
        return headers
    }

    private static func collected(_ response: HTTPClientResponse) async throws -> TransportResponse {
        let body = try await response.body.collect(upTo: messageBytesMax)
        return TransportResponse(
            status: Int(response.status.code), headers: headers(response), body: Array(body.readableBytesView))
    }

    private static func failure(_ error: any Error) -> TransportFailure {
        switch error {
        case let failure as TransportFailure: failure
        case let error as HTTPClientError where error == .connectTimeout || error == .alreadyShutdown:
            TransportFailure(.notSent, "no connection to the server")
        case let error as HTTPClientError where error == .deadlineExceeded || error == .readTimeout:
            TransportFailure(.timeout, "no answer in time")
        case is NIOConnectionError: TransportFailure(.notSent, "no connection to the server")
        case is CancellationError: TransportFailure(.lost, "the request was cancelled")
        default: TransportFailure(.lost, "the connection failed: \(error)")
        }
    }

    public func close() async { try? await client.shutdown() }
}
