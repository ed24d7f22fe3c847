import FreshetLink
import FreshetTransport

// Requests of feeds that are followed without a WebSocket.

extension Engine {
    /// Sends a request and reports its parts and its end to the link.
    func start(_ exchange: String, _ request: LinkRequest) {
        let message = TransportRequest(
            method: request.method, path: request.path, headers: request.headers.map { ($0.name, $0.value) },
            body: request.body, timeoutMs: request.timeoutMs)
        exchanges[exchange] = Task { [transport, weak self] in
            do throws(TransportFailure) {
                let response =
                    switch request.form {
                    case .poll: try await transport.send(message)
                    case .stream:
                        // The next part is read when this one is processed.
                        try await transport.stream(message) { [weak self] part in await self?.streamed(exchange, part) }
                    }
                await self?.answered(exchange, response)
            } catch {
                await self?.failed(exchange, error)
            }
        }
    }

    private func streamed(_ exchange: String, _ part: [UInt8]) {
        perform(link.streamed(exchange: exchange, part, nowMs: time.nowMs))
    }

    private func answered(_ exchange: String, _ response: TransportResponse) {
        exchanges[exchange] = nil
        let answer = LinkResponse(
            status: response.status, tag: response.headers["etag"],
            invalidations: response.headers[LinkRequest.invalidationsHeader], retryAfterMs: response.retryAfterMs,
            body: response.body)
        perform(link.answered(exchange: exchange, answer, nowMs: time.nowMs))
    }

    private func failed(_ exchange: String, _ failure: TransportFailure) {
        exchanges[exchange] = nil
        let end: LinkEnd =
            switch failure.kind {
            case .notSent: .unreachable
            case .lost, .timeout: .lost
            }
        perform(link.failed(exchange: exchange, end, reason: failure.reason, nowMs: time.nowMs))
    }
}

extension LinkEnd {
    init(_ end: SocketEnd) {
        self =
            switch end {
            case .unreachable: .unreachable
            case .refused(let status): .refused(status: status)
            case .lost: .lost
            }
    }
}

extension TransportResponse {
    var retryAfterMs: Int64? { Self.retryAfterMs(headers["retry-after"]) }
}
