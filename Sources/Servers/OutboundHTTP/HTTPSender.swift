import AsyncHTTPClient
import Glibc
package import NIOCore
import NIOHTTP1
package import NIOPosix
import NIOSSL
import Synchronization

/// The node's HTTP client for other servers: custom resolvers, the embedding server, issuers' key sets. Pools
/// connections, follows no redirects and never sends a request twice.
package final class HTTPSender: Sendable {
    package struct Request: Sendable {
        package var url: String
        package var headers: [(name: String, value: String)]
        /// A JSON body to post; nil sends a GET.
        package var body: [UInt8]?
        /// The limit until the last byte of the response.
        package var timeoutMs: Int
        package var responseBytesMax: Int

        package init(
            url: String, headers: [(name: String, value: String)] = [], body: [UInt8]? = nil, timeoutMs: Int,
            responseBytesMax: Int
        ) {
            self.url = url
            self.headers = headers
            self.body = body
            self.timeoutMs = timeoutMs
            self.responseBytesMax = responseBytesMax
        }
    }

    package struct Response: Sendable {
        package let status: Int
        package let body: [UInt8]
    }

    package enum Failure: Error {
        case timedOut
        case responseTooLarge
        /// Nothing was sent. The cause contains nothing of the request.
        case unreachable(cause: String)
        /// Something may have been sent.
        case broken(cause: String)
        /// The sender was stopped; nothing was sent.
        case stopped
    }

    private struct State {
        /// Created by the first request: most nodes send none.
        var client: HTTPClient?
        var isStopped = false
    }

    private let state = Mutex(State())
    private let group: MultiThreadedEventLoopGroup
    private let connectionsPerHostMax: Int

    /// - Parameters:
    ///   - group: the event loops to use; must outlive this object.
    ///   - connectionsPerHostMax: the limit for HTTP/1.1; further requests wait for a connection within their timeout.
    package init(group: MultiThreadedEventLoopGroup, connectionsPerHostMax: Int) {
        self.group = group
        self.connectionsPerHostMax = connectionsPerHostMax
    }

    /// Returns the client; nil after `stop`.
    private func client() -> HTTPClient? {
        state.withLock { state in
            if let client = state.client { return client }
            if state.isStopped { return nil }
            let client = makeClient()
            state.client = client
            return client
        }
    }

    private func makeClient() -> HTTPClient {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connectionsPerHostMax
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
    }

    package func stop() async {
        let client = state.withLock { state in
            state.isStopped = true
            return state.client.take()
        }
        try? await client?.shutdown()
    }

    /// Sends a request at most once and returns its response.
    package func send(_ request: Request) async -> Result<Response, Failure> {
        guard let client = client() else { return .failure(.stopped) }
        // The client's deadline covers the response head only; the timeout covers all of it.
        return await withTaskGroup(of: Result<Response, Failure>.self) { group in
            group.addTask { await Self.perform(request, client) }
            group.addTask {
                try? await Task.sleep(for: .milliseconds(request.timeoutMs))
                return .failure(.timedOut)
            }
            defer { group.cancelAll() }
            return await group.next() ?? .failure(.timedOut)
        }
    }

    /// Follows a response without end.
    /// - Parameters:
    ///   - request: `timeoutMs` is the limit until the response begins.
    ///   - onPart: called with each part of the body as it comes; the server waits meanwhile.
    /// - Returns: when the response ends, or the task is cancelled: the status if it is not 200, with the beginning of
    ///   the body; nil after a response that ended.
    package func follow(
        _ request: Request, _ onPart: (ByteBuffer) async throws -> Void
    ) async -> Result<Response?, Failure> {
        guard let client = client() else { return .failure(.stopped) }
        var message = HTTPClientRequest(url: request.url)
        for header in request.headers { message.headers.add(name: header.name, value: header.value) }
        do {
            let response = try await client.execute(
                message, deadline: .now() + .milliseconds(Int64(request.timeoutMs)))
            guard response.status == .ok else {
                let body = try await response.body.collect(upTo: request.responseBytesMax)
                return .success(Response(status: Int(response.status.code), body: Array(body.readableBytesView)))
            }
            for try await part in response.body { try await onPart(part) }
            return .success(nil)
        } catch {
            return .failure(Self.failure(error))
        }
    }

    private static func perform(_ request: Request, _ client: HTTPClient) async -> Result<Response, Failure> {
        var message = HTTPClientRequest(url: request.url)
        for header in request.headers { message.headers.add(name: header.name, value: header.value) }
        if let body = request.body {
            message.method = .POST
            message.headers.add(name: "content-type", value: "application/json")
            message.body = .bytes(ByteBuffer(bytes: body))
        }
        do {
            let deadline = NIODeadline.now() + .milliseconds(Int64(request.timeoutMs))
            let response = try await client.execute(message, deadline: deadline)
            let body = try await response.body.collect(upTo: request.responseBytesMax)
            return .success(Response(status: Int(response.status.code), body: Array(body.readableBytesView)))
        } catch {
            return .failure(failure(error))
        }
    }

    private static func failure(_ error: any Error) -> Failure {
        switch error {
        case let error as HTTPClientError where isTimeout(error): .timedOut
        case is NIOTooManyBytesError: .responseTooLarge
        case let error as HTTPClientError:
            // Not its description: for an invalid header value that contains the value, which may be a token.
            isUnsent(error) ? .unreachable(cause: error.shortDescription) : .broken(cause: error.shortDescription)
        case let error where isUnsent(error): .unreachable(cause: cause(of: error))
        default: .broken(cause: cause(of: error))
        }
    }

    private static func cause(of error: any Error) -> String { String("\(error)".prefix(300)) }

    /// Whether the connection or its TLS handshake failed, before any request.
    private static func isUnsent(_ error: any Error) -> Bool {
        switch error {
        case is NIOConnectionError, is NIOSSLExtraError, NIOSSLError.handshakeFailed: true
        // Raised when the host is an address instead of a name.
        case let error as IOError: error.errnoCode == ECONNREFUSED
        default: false
        }
    }

    /// Whether the error arises before anything of the request is sent.
    private static func isUnsent(_ error: HTTPClientError) -> Bool {
        let errors: [HTTPClientError] = [
            .connectTimeout, .getConnectionFromPoolTimeout, .tlsHandshakeTimeout, .invalidURL, .emptyScheme, .emptyHost,
            .unsupportedScheme(""), .invalidHeaderFieldNames([]), .invalidHeaderFieldValues([]),
        ]
        return errors.contains { $0.shortDescription == error.shortDescription }
    }

    private static func isTimeout(_ error: HTTPClientError) -> Bool {
        error == .deadlineExceeded || error == .readTimeout || error == .writeTimeout
    }
}
