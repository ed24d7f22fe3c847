internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
package import NIOPosix
internal import Synchronization

/// Sends requests over HTTP and collects their answers. Connections are kept and shared, redirects are not followed, and
/// nothing is sent twice.
package final class HTTPSender: Sendable {
    struct Request: Sendable {
        var url: String
        var headers: [(name: String, value: String)]
        /// Of JSON.
        var body: [UInt8]
        /// To the last byte of the answer.
        var timeoutMs: Int
        var answerBytesMax: Int
    }

    struct Answer: Sendable {
        let status: Int
        let body: [UInt8]
    }

    enum Failure: Error {
        case late
        case answerTooLarge
        /// Nothing was sent.
        case unreachable
        /// Something may have been sent.
        case broken
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

    /// - Parameter group: whose loops do the work; outlives this.
    package init(group: MultiThreadedEventLoopGroup) {
        self.group = group
    }

    /// Nil after `stop`.
    private func client() -> HTTPClient? {
        state.withLock { state in
            if let client = state.client { return client }
            if state.isStopped { return nil }
            let client = Self.client(group)
            state.client = client
            return client
        }
    }

    private static func client(_ group: MultiThreadedEventLoopGroup) -> HTTPClient {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 32
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
    func post(_ request: Request) async -> Result<Answer, Failure> {
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
        message.method = .POST
        message.headers.add(name: "content-type", value: "application/json")
        for header in request.headers { message.headers.add(name: header.name, value: header.value) }
        message.body = .bytes(ByteBuffer(bytes: request.body))
        do {
            let deadline = NIODeadline.now() + .milliseconds(Int64(request.timeoutMs))
            let response = try await client.execute(message, deadline: deadline)
            let body = try await response.body.collect(upTo: request.answerBytesMax)
            return .success(Answer(status: Int(response.status.code), body: Array(body.readableBytesView)))
        } catch let error as HTTPClientError where isTimeout(error) {
            return .failure(.late)
        } catch is NIOTooManyBytesError {
            return .failure(.answerTooLarge)
        } catch is NIOConnectionError {
            return .failure(.unreachable)
        } catch let error as HTTPClientError where isUnsent(error) {
            return .failure(.unreachable)
        } catch {
            return .failure(.broken)
        }
    }

    /// Errors that come before anything of a request is sent.
    private static func isUnsent(_ error: HTTPClientError) -> Bool {
        let errors: [HTTPClientError] = [
            .connectTimeout, .getConnectionFromPoolTimeout, .tlsHandshakeTimeout, .emptyHost,
        ]
        return errors.contains(error)
    }

    private static func isTimeout(_ error: HTTPClientError) -> Bool {
        error == .deadlineExceeded || error == .readTimeout || error == .writeTimeout
    }
}
