import Catalog
import Execution
import Gateway
import GraphQLLanguage
import HTTPServer
import JSON
import LiveModel
import NIOCore
import NIOHTTP1
import Operations
import Sessions

/// `/graphql` by GET or POST for stored operations: one response, or a stream (graphql-sse, Apollo's multipart
/// subscriptions). Source: GraphQL over HTTP, with the status codes that its audits expect: 200 for `application/json`,
/// 4xx under `application/graphql-response+json` for requests that fail before execution.
extension PublicRouter {
    func graphQL(_ call: Call) {
        if sharedStream(call) { return }
        guard call.request.method != .DELETE else {
            return call.fail(
                RequestError(
                    .badRequest, "DELETE ends an operation of a reserved stream and requires the stream's token"))
        }
        guard call.request.method == .GET || call.request.method == .POST else {
            return call.methodNotAllowed("GET, POST, PUT, DELETE")
        }
        let accepted = AcceptedAnswer(call.request.header("accept"))
        guard accepted.single != nil || accepted.stream != nil else {
            return call.fail(
                RequestError(
                    .notAcceptable,
                    "only application/json, application/graphql-response+json, text/event-stream and "
                        + "multipart/mixed;subscriptionSpec=1.0 are produced"))
        }
        var credentials = Credentials(call.request)
        var received = call
        if let appSync = AppSyncRequest(header: { call.request.header($0) }) {
            received.failureForm = .appSync
            if appSync.isSigned { return received.fail(AppSyncRequest.signatureRefusal) }
            credentials.bearer = credentials.bearer ?? appSync.bareToken
        }
        let call = received
        perform(call, as: credentials) { identity in
            do throws(RequestError) {
                let (request, _) = try Self.graphQLRequest(call.request)
                do throws(RequestError) {
                    try await self.answer(call, request, identity, accepted)
                } catch {
                    self.fail(call, error, accepted)
                }
            } catch {
                let type = accepted.single ?? .json
                // A malformed request is not 200 under any type.
                self.answer(call, type, error, status: HTTPResponseStatus(statusCode: error.code.httpStatus))
            }
        }
    }

    /// - Parameter data: the response's `data`; nil: it has none.
    private func fail(_ call: Call, _ error: RequestError, _ accepted: AcceptedAnswer, data: [UInt8]? = nil) {
        let type = accepted.single ?? .json
        // Temporary errors stay 503: clients do not retry after a stream that began and ended.
        if accepted.single == nil, let format = accepted.stream, format == .graphQLSSE, error.code != .unavailable {
            return Self.stream(
                call, format, format.answer(ResultEnvelope.errors([error], body: data)) + format.completed, as: .other)
        }
        answer(call, type, error, status: type.status(of: error), data: data)
    }

    private func answer(
        _ call: Call, _ request: OperationRequest, _ identity: Identity, _ accepted: AcceptedAnswer
    ) async throws(RequestError) {
        if settings.emulator != nil, let body = try executor.introspect(request) {
            return answer(call, accepted.single ?? .json, status: .ok, body: body)
        }
        if let name = TypenameQuery(request) {
            guard name.kind == .query || call.request.method == .POST else { return call.methodNotAllowed("POST") }
            return answerOnce(call, ResultEnvelope.data(name.data), accepted)
        }
        var resolved: ResolvedOperation
        do throws(RequestError) {
            resolved = try executor.resolve(request, for: identity, call.allowedKinds)
            call.trace(&resolved)
        } catch {
            guard error.code == .methodNotAllowed else { throw error }
            return call.methodNotAllowed("POST")
        }
        let isQuery = resolved.operation.kind == .query
        if StartMode.byText.isFollowed(
            isQuery: isQuery, wanted: resolved.wantedKind, prefersStream: accepted.prefersStream)
        {
            guard let format = accepted.stream else {
                throw RequestError(
                    .notAcceptable,
                    "subscriptions need a WebSocket, text/event-stream or multipart/mixed;subscriptionSpec=1.0")
            }
            // Not earlier: only the operation decides whether the response stays open, and mutations must not be
            // delayed.
            if gateway != nil { try admitSession(from: address(of: call.request)) }
            return try stream(
                call, resolved, identity, as: format, known: request.resume?.known(of: resolved.liveQuery.key),
                wantsDelta: request.wantsDelta, wantsTags: request.wantsTags)
        }
        guard settings.isAPI else { throw RequestError.runsNoOperations }
        let outcome: Result<RequestExecutor.OneShotAnswer, RequestError>
        do throws(RequestError) {
            outcome = .success(try await executor.runOnce(resolved, traceID: call.traceID))
        } catch {
            outcome = .failure(error)
        }
        switch OneShotEnd(outcome, isQuery: isQuery) {
        case .finished(let once):
            var committed = call
            committed.position = once.position
            answerOnce(committed, once.answer.envelope, accepted)
        case .queryFailed(let error): fail(call, error, accepted, data: ResultEnvelope.null)
        case .failed(let error): fail(call, error, accepted)
        }
    }

    /// Sends the answer of an operation that is not followed; as a stream if the client accepts nothing else.
    private func answerOnce(_ call: Call, _ envelope: [UInt8], _ accepted: AcceptedAnswer) {
        if accepted.single == nil, let format = accepted.stream, format == .graphQLSSE {
            Self.stream(call, format, format.answer(envelope) + format.completed, as: .result)
        } else {
            answer(call, accepted.single ?? .json, status: .ok, body: envelope, as: .result)
        }
    }

    /// Sends a stream that ends at once.
    private static func stream(_ call: Call, _ format: StreamFormat, _ text: [UInt8], as kind: ResponseKind) {
        call.exchange.respond(.ok, headers: ResultStream.headers(call.headers, format), body: text, as: kind)
    }

    private func answer(
        _ call: Call, _ type: ResponseType, _ error: RequestError, status: HTTPResponseStatus, data: [UInt8]? = nil
    ) {
        var headers = call.headers
        headers.setRetryAfter(of: error)
        guard call.failureForm == .appSync, status.code >= 400 else {
            return answer(
                call, type, status: status, body: ResultEnvelope.errors([error], body: data), headers: headers)
        }
        answer(
            call, type, status: status, body: AppSyncRequest.body(error, data: data),
            headers: headers.withAppSyncType(of: error))
    }

    private func answer(
        _ call: Call, _ type: ResponseType, status: HTTPResponseStatus, body: [UInt8], headers: HTTPHeaders? = nil,
        as kind: ResponseKind = .other
    ) {
        var headers = headers ?? call.headers
        headers.replaceOrAdd(name: "content-type", value: type.rawValue + "; charset=utf-8")
        call.exchange.respond(status, headers: headers, body: body, as: kind)
    }

    /// Parses the request and its `extensions`.
    /// - Throws: `.badRequest`, `.unsupportedMediaType`.
    static func graphQLRequest(
        _ request: HTTPRequest
    ) throws(RequestError) -> (request: OperationRequest, extensions: JSONObject) {
        var object = JSONObject()
        if request.method == .POST {
            object = try request.jsonBody()
        } else {
            // Empty items count as absent.
            for name in ["query", "operationName", "documentId"] {
                if let text = request.query(name), !text.isEmpty { object[name] = .string(text) }
            }
            object["variables"] = .object(try request.jsonObject(inQuery: "variables"))
            object["extensions"] = .object(try request.jsonObject(inQuery: "extensions"))
        }
        var operation = try OperationRequest(graphQL: object)
        try operation.take(idempotencyKeyHeader: request.header(IdempotencyKey.headerName))
        guard operation.operationName != nil || operation.document != nil || operation.documentID != nil else {
            throw RequestError(.badRequest, "one of \"query\", \"operationName\" and \"documentId\" is required")
        }
        return (operation, object["extensions"]?.objectValue ?? JSONObject())
    }
}

extension Call {
    /// The kinds that the method allows: a GET must change nothing.
    var allowedKinds: AllowedKinds { request.method == .GET ? .only(.query, code: .methodNotAllowed) : .all }
}

extension ResponseType {
    /// Returns the status of a request that failed before execution.
    func status(of error: RequestError) -> HTTPResponseStatus {
        switch (self, error.code) {
        case (_, .unauthenticated), (_, .permissionDenied), (_, .unavailable), (_, .limitExceeded),
            (_, .outcomeUnknown), (_, .timeout), (_, .internalError), (_, .notAcceptable), (_, .notFound),
            (_, .idempotencyKeyReused), (_, .idempotencyKeyInUse), (_, .alreadyApplied):
            HTTPResponseStatus(statusCode: error.code.httpStatus)
        case (.graphQLResponse, _): .badRequest
        case (.json, _): .ok
        }
    }
}
