import AsyncHTTPClient
import Glibc
import NIOCore
import NIOHTTP1
package import NIOPosix
import NIOSSL
import Synchronization

/// Sends HTTP requests and collects their answers: the node's one client for servers elsewhere (custom resolvers,
/// the embedding server, issuers' key sets). Keeps and shares connections, follows no redirects, sends nothing twice.
package final class HTTPSender: Sendable {
    package struct Request: Sendable {
        package var url: String
        package var headers: [(name: String, value: String)]
        /// JSON to post; nil: a GET.
        package var body: [UInt8]?
        /// To the last byte of the answer.
        package var timeoutMs: Int
        package var answerBytesMax: Int

        package init(
            url: String, headers: [(name: String, value: String)] = [], body: [UInt8]? = nil, timeoutMs: Int,
            answerBytesMax: Int
        ) {
            self.url = url
            self.headers = headers
            self.body = body
            self.timeoutMs = timeoutMs
            self.answerBytesMax = answerBytesMax
        }
    }

    package struct Answer: Sendable {
        package let status: Int
        package let body: [UInt8]
    }

    package enum Failure: Error {
        case late
        case answerTooLarge
        /// Nothing was sent. The cause holds nothing of the request.
        case unreachable(cause: String)
        /// Something may have been sent.
        case broken(cause: String)
        /// After `stop`; nothing was sent.
        case stopped
    }

    private struct State {
        /// Made by the first request: most services send none.
        var client: HTTPClient?
        var isStopped = false
    }

    private let state = Mutex(State())
    private let group: MultiThreadedEventLoopGroup
    private let connectionsPerHostMax: Int

    /// - Parameters:
    ///   - group: whose loops do the work; outlives this.
    ///   - connectionsPerHostMax: of HTTP/1.1; further requests wait for one within their time-out.
    package init(group: MultiThreadedEventLoopGroup, connectionsPerHostMax: Int) {
        self.group = group
        self.connectionsPerHostMax = connectionsPerHostMax
    }

    /// Nil after `stop`.
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

    /// One request, one answer, at most once.
    package func send(_ request: Request) async -> Result<Answer, Failure> {
        guard let client = client() else { return .failure(.stopped) }
        // The client's own deadline ends with the head of the answer; the time-out is about all of it.
        return await withTaskGroup(of: Result<Answer, Failure>.self) { group in
            group.addTask { await Self.answer(to: request, client) }
            group.addTask {
                try? await Task.sleep(for: .milliseconds(request.timeoutMs))
                return .failure(.late)
            }
            defer { group.cancelAll() }
            return await group.next() ?? .failure(.late)
        }
    }

    private static func answer(to request: Request, _ client: HTTPClient) async -> Result<Answer, Failure> {
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
            let body = try await response.body.collect(upTo: request.answerBytesMax)
            return .success(Answer(status: Int(response.status.code), body: Array(body.readableBytesView)))
        } catch let error as HTTPClientError where isTimeout(error) {
            return .failure(.late)
        } catch is NIOTooManyBytesError {
            return .failure(.answerTooLarge)
        } catch let error as HTTPClientError {
            // Not its description: that of a header's value that cannot be sent holds the value, which may be a token.
            let cause = error.shortDescription
            return .failure(isUnsent(error) ? .unreachable(cause: cause) : .broken(cause: cause))
        } catch let error where isUnsent(error) {
            return .failure(.unreachable(cause: cause(of: error)))
        } catch {
            return .failure(.broken(cause: cause(of: error)))
        }
    }

    private static func cause(of error: any Error) -> String { String("\(error)".prefix(300)) }

    /// Of a connection or of its TLS, before any request.
    private static func isUnsent(_ error: any Error) -> Bool {
        switch error {
        case is NIOConnectionError, is NIOSSLExtraError, NIOSSLError.handshakeFailed: true
        // Of an address in place of a name.
        case let error as IOError: error.errnoCode == ECONNREFUSED
        default: false
        }
    }

    /// Errors that come before anything of a request is sent.
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
