internal import Catalog
internal import Execution
internal import GraphQLLanguage
internal import HTTPServer
internal import JSON
internal import LiveModel
internal import NIOHTTP1
internal import Sessions

/// `/graphql` by GET or POST for stored operations. Source: GraphQL over HTTP; status codes as its audits want them: 200
/// for `application/json`, 4xx for requests that fail before execution under `application/graphql-response+json`.
extension PublicEndpoint {
    func graphQL(_ call: Call) {
        guard settings.isAPI else {
            return call.fail(RequestError(.notFound, "this node runs no operations (role api)"))
        }
        guard call.request.method == .GET || call.request.method == .POST else {
            return call.methodNotAllowed("GET, POST")
        }
        guard let type = ResponseType(accept: call.request.header("accept")) else {
            return call.fail(
                RequestError(.notAcceptable, "only application/json and application/graphql-response+json are produced")
            )
        }
        perform(call) { identity in
            do throws(RequestError) {
                let request = try Self.graphQLRequest(call.request)
                let resolved = try self.services.resolve(request, auth: identity.auth)
                if resolved.wantedKind == .subscription {
                    throw RequestError(.notAcceptable, "subscriptions need a WebSocket or an event stream")
                }
                if call.request.method == .GET, resolved.operation.kind == .mutation {
                    call.methodNotAllowed("POST")
                    return
                }
                let envelope = try await self.services.runOnce(resolved, traceID: call.traceID)
                self.answer(call, type, status: .ok, body: envelope)
            } catch {
                var headers = call.headers
                if let retryAfterMs = error.retryAfterMs {
                    headers.replaceOrAdd(name: "retry-after", value: String((retryAfterMs + 999) / 1_000))
                }
                self.answer(
                    call, type, status: type.status(of: error), body: ResultEnvelope.errors([error]), headers: headers)
            }
        }
    }

    private func answer(
        _ call: Call, _ type: ResponseType, status: HTTPResponseStatus, body: [UInt8], headers: HTTPHeaders? = nil
    ) {
        var headers = headers ?? call.headers
        headers.replaceOrAdd(name: "content-type", value: type.rawValue + "; charset=utf-8")
        headers.replaceOrAdd(name: "x-trace-id", value: call.traceID)
        call.exchange.respond(status, headers: headers, body: body)
    }

    private static func graphQLRequest(_ request: HTTPRequest) throws(RequestError) -> OperationRequest {
        if request.method == .POST { return try OperationRequest(graphQL: try request.jsonBody()) }
        var object = JSONObject()
        // Empty items count as absent.
        for name in ["query", "operationName"] {
            if let text = request.query(name), !text.isEmpty { object[name] = .string(text) }
        }
        object["variables"] = .object(try request.jsonObject(inQuery: "variables"))
        object["extensions"] = .object(try request.jsonObject(inQuery: "extensions"))
        return try OperationRequest(graphQL: object)
    }
}

/// What a GraphQL answer is sent as.
enum ResponseType: String {
    case json = "application/json"
    case graphQLResponse = "application/graphql-response+json"

    /// The first acceptable of the header in order of its weights; nil when none is.
    init?(accept: String?) {
        guard let accept, !accept.isEmpty else {
            self = .json
            return
        }
        var best: (weight: Double, type: ResponseType)?
        for range in accept.split(separator: ",") {
            let parts = range.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard let essence = parts.first else { continue }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
            let type: ResponseType? =
                switch essence {
                case "application/json", "*/*", "application/*": .json
                case "application/graphql-response+json": .graphQLResponse
                default: nil
                }
            guard let type, weight > 0 else { continue }
            if weight > best?.weight ?? 0 { best = (weight, type) }
        }
        guard let best else { return nil }
        self = best.type
    }

    /// A request that failed before execution.
    func status(of error: RequestError) -> HTTPResponseStatus {
        switch (self, error.code) {
        case (_, .unauthenticated), (_, .permissionDenied), (_, .unavailable), (_, .limitExceeded),
            (_, .outcomeUnknown),
            (_, .timeout), (_, .internalError), (_, .unsupportedMediaType), (_, .notAcceptable):
            HTTPResponseStatus(statusCode: error.code.httpStatus)
        case (_, .badRequest), (.graphQLResponse, _): .badRequest
        case (.json, _): .ok
        }
    }
}
