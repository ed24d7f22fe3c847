internal import AsyncHTTPClient
package import Catalog
internal import Execution
package import LiveModel
internal import NIOCore
internal import NIOHTTP1
package import NIOPosix
internal import Synchronization

/// Asks custom resolvers by GraphQL over HTTP. Connections are kept and shared, redirects are not followed, and nothing
/// is sent twice.
package final class HTTPResolvers: ResolverTransport {
    package struct Settings: Sendable {
        /// Requests under way on this node; more are refused.
        package var inFlightMax = 256
        /// Of one answer.
        package var answerBytesMax = 1 << 20

        package init() {}
    }

    private struct State {
        /// Made by the first request: most services have no resolvers.
        var client: HTTPClient?
        var isStopped = false
    }

    private let state = Mutex(State())
    private let group: MultiThreadedEventLoopGroup
    private let settings: Settings
    private let inFlight = Atomic<Int>(0)

    /// - Parameter group: whose loops do the work; outlives this.
    package init(_ settings: Settings, group: MultiThreadedEventLoopGroup) {
        self.settings = settings
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

    package func call(_ call: RemoteCall) async throws(RequestError) -> [UInt8] {
        let count = inFlight.add(1, ordering: .relaxed).newValue
        defer { inFlight.subtract(1, ordering: .relaxed) }
        guard count <= settings.inFlightMax else {
            throw call.failure("has as many requests under way as this node sends", code: .limitExceeded)
        }
        var request = HTTPClientRequest(url: call.endpoint.uri)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/json")
        request.headers.add(name: "accept", value: "application/graphql-response+json, application/json")
        request.body = .bytes(ByteBuffer(bytes: call.body))
        guard let client = client() else { throw call.failure("is not asked: the node stops", code: .unavailable) }
        let (status, answer) = try await Self.send(request, call, client, settings)
        return try call.value(status: status, answer: answer)
    }

    private static func send(
        _ request: HTTPClientRequest, _ call: RemoteCall, _ client: HTTPClient, _ settings: Settings
    ) async throws(RequestError) -> (status: Int, answer: [UInt8]) {
        // The client's own deadline ends with the head of the answer; the time-out is about all of it.
        let outcome = await withTaskGroup(of: Outcome.self) { group in
            group.addTask { await answer(request, call, client, settings) }
            group.addTask {
                try? await Task.sleep(for: .milliseconds(call.endpoint.timeoutMs))
                return late(call)
            }
            defer { group.cancelAll() }
            return await group.next() ?? late(call)
        }
        return try outcome.get()
    }

    private typealias Outcome = Result<(status: Int, answer: [UInt8]), RequestError>

    private static func answer(
        _ request: HTTPClientRequest, _ call: RemoteCall, _ client: HTTPClient, _ settings: Settings
    ) async -> Outcome {
        do {
            let deadline = NIODeadline.now() + .milliseconds(Int64(call.endpoint.timeoutMs))
            let response = try await client.execute(request, deadline: deadline)
            let body = try await response.body.collect(upTo: settings.answerBytesMax)
            return .success((Int(response.status.code), Array(body.readableBytesView)))
        } catch let error as HTTPClientError where Self.isTimeout(error) {
            return late(call)
        } catch is NIOTooManyBytesError {
            return .failure(call.failure("answered with more than \(settings.answerBytesMax) bytes"))
        } catch is NIOConnectionError {
            return .failure(call.failure("cannot be reached", code: .unavailable))
        } catch let error as HTTPClientError where Self.isUnsent(error) {
            return .failure(call.failure("cannot be reached", code: .unavailable))
        } catch {
            return .failure(call.failure("broke the connection off", code: .outcomeUnknown))
        }
    }

    /// Errors that come before anything of a request is sent.
    private static func isUnsent(_ error: HTTPClientError) -> Bool {
        let errors: [HTTPClientError] = [
            .connectTimeout, .getConnectionFromPoolTimeout, .tlsHandshakeTimeout, .emptyHost,
        ]
        return errors.contains(error)
    }

    private static func late(_ call: RemoteCall) -> Outcome {
        .failure(call.failure("did not answer in \(call.endpoint.timeoutMs) ms", code: .timeout))
    }

    private static func isTimeout(_ error: HTTPClientError) -> Bool {
        error == .deadlineExceeded || error == .readTimeout || error == .writeTimeout
    }
}
