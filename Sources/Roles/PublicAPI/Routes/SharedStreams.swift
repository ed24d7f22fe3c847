import Catalog
import Execution
import Gateway
import GraphQLLanguage
import HTTPServer
import JSON
import LiveModel
import NIOCore
import NIOHTTP1
import Observability
import Operations
import Sessions
import Synchronization

/// The streams of graphql-sse's single connection mode on `/graphql`: PUT reserves a stream and returns its token; a
/// request with the token and `Accept: text/event-stream` opens it; requests with the token and
/// `extensions.operationId` start operations on it; DELETE ends one. Streams belong to this node: all requests of one
/// client must reach the same node.
final class SharedStreams: Sendable {
    private let streams = Mutex<[String: SharedStreamSession]>([:])

    func insert(_ session: SharedStreamSession, token: String) { streams.withLock { $0[token] = session } }

    func remove(_ token: String) { _ = streams.withLock { $0.removeValue(forKey: token) } }

    subscript(token: String) -> SharedStreamSession? { streams.withLock { $0[token] } }

    /// Returns 128 random bits in hexadecimal.
    static func makeToken() -> String {
        var random = PooledRandom()
        return random.next().allHexDigits + random.next().allHexDigits
    }
}

extension Call {
    /// Responds with 409: the token or the id is in use.
    fileprivate func conflict(_ message: String) {
        exchange.respond(
            json: ResultEnvelope.errors([RequestError(.badRequest, message)]), status: .conflict, headers: headers)
    }

    /// Responds to a request that starts an operation of a stream.
    fileprivate func started(_ start: SharedStreamMachine.Start) {
        switch start {
        case .started: exchange.respond(.accepted, headers: headers, body: [])
        case .conflict: conflict("the operationId is in use")
        case .refused(let error): fail(error)
        }
    }
}

extension PublicRouter {
    /// Handles a request of the single connection mode.
    /// - Returns: false if the request is not of this mode.
    func sharedStream(_ call: Call) -> Bool {
        if call.request.method == .PUT {
            reserve(call)
            return true
        }
        let header = call.request.header(SharedStreamMachine.tokenHeader)
        guard let token = header ?? call.request.query("token"), !token.isEmpty else { return false }
        let accepted = AcceptedAnswer(call.request.header("accept"))
        let stream = sharedStreams[token]
        switch call.request.method {
        case .GET, .POST:
            guard accepted.stream != .graphQLSSE || accepted.single != nil else {
                // An unknown token counts as none: the request is of the distinct connections mode.
                guard let stream else { return false }
                stream.open(call.exchange, headers: call.headers) { isConflict in
                    isConflict
                        ? call.conflict("the stream is already open")
                        : call.fail(RequestError(.notFound, "the stream is gone"))
                }
                return true
            }
            guard accepted.single != nil else {
                call.fail(
                    RequestError(.notAcceptable, "only application/json is produced for an operation of a stream"))
                return true
            }
            guard let stream else {
                call.fail(RequestError(.notFound, "no stream has this token"))
                return true
            }
            start(call, on: stream)
            return true
        case .DELETE:
            guard let stream else {
                call.fail(RequestError(.notFound, "no stream has this token"))
                return true
            }
            guard let id = call.request.query("operationId"), !id.isEmpty else {
                call.fail(RequestError(.badRequest, "the query item \"operationId\" is required"))
                return true
            }
            stream.stop(id)
            call.exchange.respond(.ok, headers: call.headers, body: [])
            return true
        default: return false
        }
    }

    private func reserve(_ call: Call) {
        if let token = call.request.header(SharedStreamMachine.tokenHeader), sharedStreams[token] != nil {
            return call.conflict("this token already has a stream")
        }
        do throws(RequestError) {
            guard let hub = gateway?.hub(of: call.exchange.eventLoop) else {
                throw RequestError.servesNoLiveQueries
            }
            let address = address(of: call.request)
            try admitSession(from: address)
            let permit = try SessionPermit(connectionFrom: address, sessions, executor.quotas)
            let token = SharedStreams.makeToken()
            let limits = settings.session
            call.exchange.eventLoop.execute {
                _ = self.executor.open(
                    permit, on: hub.eventLoop, peer: call.request.remoteAddress,
                    client: ClientDescription { call.request.header($0) }
                ) {
                    let session = SharedStreamSession(
                        executor: $0, hub: hub, limits: limits, address: address, permit: permit,
                        onClosed: { [sharedStreams = self.sharedStreams] in sharedStreams.remove(token) })
                    self.sharedStreams.insert(session, token: token)
                    return session
                }
                var headers = call.headers
                headers.replaceOrAdd(name: "content-type", value: "text/plain; charset=utf-8")
                // For proxies, which route requests by it.
                headers.replaceOrAdd(name: SharedStreamMachine.tokenHeader, value: token)
                call.exchange.respond(.created, headers: headers, body: Array(token.utf8))
            }
        } catch {
            call.fail(error)
        }
    }

    private func start(_ call: Call, on stream: SharedStreamSession) {
        perform(call) { identity throws(RequestError) in
            let (request, extensions) = try Self.graphQLRequest(call.request)
            guard let id = extensions["operationId"]?.stringValue, !id.isEmpty else {
                throw RequestError(.badRequest, "\"extensions.operationId\" is required")
            }
            if let name = TypenameQuery(request) {
                guard name.kind == .query || call.request.method == .POST else { return call.methodNotAllowed("POST") }
                return stream.answer(id, ResultEnvelope.data(name.data), identity: identity) {
                    call.started($0)
                }
            }
            let resolved: ResolvedOperation
            do throws(RequestError) {
                resolved = try stream.executor.resolve(request, for: identity, call.allowedKinds)
            } catch {
                guard error.code == .methodNotAllowed else { throw error }
                return call.methodNotAllowed("POST")
            }
            let isFollowed = StartMode.byText.isFollowed(
                isQuery: resolved.operation.kind == .query, wanted: resolved.wantedKind)
            // A one-shot operation counts as in flight until it has finished.
            await stream.start(
                id, resolved, follow: isFollowed, identity: identity,
                known: request.resume?.known(of: resolved.liveQuery.key)
            ) {
                call.started($0)
            }
        }
    }
}
