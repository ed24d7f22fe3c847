package import Execution
package import LiveModel
import Observability
package import Operations
import SchemaModel
import Synchronization
import Tracing
package import OutboundHTTP

/// Calls custom resolvers by GraphQL over HTTP.
package final class HTTPResolvers: ResolverTransport {
    package struct Settings: Sendable {
        /// Requests in flight on this node; more are refused.
        package let inFlightMax: Int
        /// The largest response.
        package let answerBytesMax: Int

        package init(inFlightMax: Int, answerBytesMax: Int) {
            self.inFlightMax = inFlightMax
            self.answerBytesMax = answerBytesMax
        }
    }

    private let sender: HTTPSender
    private let settings: Settings
    private let inFlight = Atomic<Int>(0)

    package init(_ settings: Settings, sender: HTTPSender) {
        self.settings = settings
        self.sender = sender
    }

    package func call(_ call: RemoteCall) async throws(RequestError) -> [UInt8] {
        try await self.call(call, idempotencyKey: nil)
    }

    package func call(_ call: RemoteCall, idempotencyKey: String?) async throws(RequestError) -> [UInt8] {
        var headers = [("accept", "application/graphql-response+json, application/json")]
        if let idempotencyKey { headers.append((IdempotencyKey.headerName, idempotencyKey)) }
        if let parent = ServiceContext.current?.traceParent {
            headers.append((TraceParent.headerName, parent.description))
        }
        let count = inFlight.add(1, ordering: .relaxed).newValue
        defer { inFlight.subtract(1, ordering: .relaxed) }
        guard count <= settings.inFlightMax else {
            throw call.failure("has too many requests in flight from this node", code: .limitExceeded)
        }
        let outcome = await sender.send(
            HTTPSender.Request(
                url: call.endpoint.uri, headers: headers, body: call.body,
                timeoutMs: call.endpoint.timeoutMs, responseBytesMax: settings.answerBytesMax))
        switch outcome {
        case .success(let answer): return try call.value(status: answer.status, answer: answer.body)
        case .failure(.timedOut): throw call.failure("did not answer in \(call.endpoint.timeoutMs) ms", code: .timeout)
        case .failure(.responseTooLarge):
            throw call.failure("answered with more than \(settings.answerBytesMax) bytes")
        case .failure(.unreachable(let cause)):
            throw call.failure("cannot be reached", code: .unavailable, cause: cause)
        case .failure(.broken(let cause)):
            throw call.failure("closed the connection", code: .outcomeUnknown, cause: cause)
        case .failure(.stopped): throw call.failure("is not called: the node is stopping", code: .unavailable)
        }
    }
}
