import Foundation
import FreshetStore
import FreshetTransport
package import FreshetTypes
package import JSON

extension Engine {
    /// A query's result under a policy.
    package func get(
        _ query: StoredQuery, _ policy: FetchPolicy
    ) async throws(FreshetError) -> FeedSnapshot {
        try await prepare()
        if policy != .serverOnly {
            await load(query)
            if let stored = store.read(query.key, revision: query.revision), isUsable(query.key, stored, policy) {
                return FeedSnapshot(document: stored.document, source: .cache, fetchedAtMs: stored.fetchedAtMs)
            }
            if policy == .cacheOnly {
                throw FreshetError(.notCached, "\(query.key.operation) is not cached with these variables")
            }
        }
        let user = try user()
        let asOf = store.uses
        let invalidationsBefore = invalidations
        let response: OperationResponse
        do throws(ExecutionFailure) {
            response = try await execute(query.key.operation, query.variables, key: nil, as: user)
        } catch {
            throw error.error
        }
        guard scope == user else { throw Self.userChanged }
        guard response.errors.isEmpty else {
            throw FreshetError(response.errors, partialData: AnyValue(json: response.data))
        }
        // It may be of before the invalidation, and then it is nothing to keep.
        guard invalidations == invalidationsBefore else {
            return FeedSnapshot(document: response.data, source: .server, fetchedAtMs: time.wallMs)
        }
        // What live queries brought meanwhile may be newer.
        apply(
            store.write(
                query.key, response.data, query.entities, revision: query.revision, atMs: time.wallMs, asOf: asOf))
        let document = store.read(query.key, revision: query.revision)?.document ?? response.data
        return FeedSnapshot(document: document, source: .server, fetchedAtMs: time.wallMs)
    }

    private func isUsable(_ key: ResultKey, _ stored: StoredDocument, _ policy: FetchPolicy) -> Bool {
        let maxAgeMs = cache.maxAge.milliseconds
        switch policy {
        case .cacheOnly: return true
        case .serverOnly: return false
        case .preferCache:
            // A partial live result is not in the store.
            if maxAgeMs > 0, let live = feeds[key]?.snapshot, live.isConfirmed, live.errors.isEmpty { return true }
            return maxAgeMs > 0 && time.wallMs - stored.fetchedAtMs <= maxAgeMs
        }
    }

    /// Runs a mutation now.
    package func run(
        _ operation: String, _ variables: JSONObject, key: IdempotencyKey = IdempotencyKey()
    ) async throws(FreshetError) -> MutationData {
        try await prepare()
        let user = try user()
        do throws(ExecutionFailure) {
            return MutationData(try await execute(operation, variables, key: key.description, as: user))
        } catch {
            throw error.mayBeApplied ? error.error.afterOpenAttempt : error.error
        }
    }

    func user() throws(FreshetError) -> String {
        guard let scope else { throw FreshetError(.closed, "there is no user") }
        return scope
    }

    /// Sends an operation until it is answered, as far as `retriesMax` allows.
    /// - Parameters:
    ///   - key: the idempotency key of a mutation; nil for a query.
    ///   - user: the scope of its user. It is never sent with another one's token.
    /// - Throws: the last attempt's error; `.userChanged` if they left before it was sent, or sent again.
    func execute(
        _ operation: String, _ variables: JSONObject, key: String?, as user: String
    ) async throws(ExecutionFailure) -> OperationResponse {
        var attempts = 0
        var mayBeApplied = false
        var rejected: String?? = nil
        while true {
            let identity: Identity
            do throws(FreshetError) {
                identity = try await currentIdentity(rejected: rejected)
                guard identity.scope == user, scope == user else { throw Self.userChanged }
            } catch {
                throw ExecutionFailure(error: error, mayBeApplied: mayBeApplied)
            }
            let error: FreshetError
            do throws(FreshetError) {
                return try await executeOnce(operation, variables, key, identity.token)
            } catch let failure {
                error = failure
            }
            attempts += 1
            if error.leavesOpen { mayBeApplied = true }
            let failure = ExecutionFailure(error: error, mayBeApplied: mayBeApplied)
            if error.code == .unauthenticated, rejected == nil, identity.token != nil {
                // Asked again once; the token may have expired a moment ago.
                rejected = .some(identity.token)
                continue
            }
            guard attempts <= options.retriesMax, Self.isRetried(error, isMutation: key != nil), !Task.isCancelled
            else { throw failure }
            let delayMs = max(Int64(100) << Int64(attempts), error.retryAfterMs ?? 0)
            guard delayMs < options.requestTimeout.milliseconds else { throw failure }
            await time.sleep(untilMs: time.nowMs + delayMs)
            if Task.isCancelled { throw failure }
        }
    }

    static let userChanged = FreshetError(.userChanged, "the user has changed")

    /// Whether a second attempt makes sense at once: for a busy server, and where it may have received the first, whose
    /// answer is then kept under the key. Not without a network.
    private static func isRetried(_ error: FreshetError, isMutation: Bool) -> Bool {
        switch error.code {
        case .unavailable: true
        case .offline: error.serverCode == FreshetError.lostAnswer
        case .timeout, .outcomeUnknown: isMutation
        default: false
        }
    }

    private func executeOnce(
        _ operation: String, _ variables: JSONObject, _ key: String?, _ token: String?
    ) async throws(FreshetError) -> OperationResponse {
        var headers: [(name: String, value: String)] = [("content-type", "application/json")]
        if let token { headers.append(("authorization", "Bearer " + token)) }
        let path: String
        let body: JSONValue
        if let key {
            // The status tells whether anything was committed (docs/reference/errors.md).
            path = "/v1/connectors/\(Self.encoded(identity.connector))/mutations/\(Self.encoded(operation))"
            body = ["variables": .object(variables)]
            headers += [("accept", "application/json"), ("idempotency-key", key)]
        } else {
            path = "/graphql"
            body = [
                "query": "", "operationName": .string(operation), "variables": .object(variables),
                "extensions": ["connector": .string(identity.connector)],
            ]
            headers.append(("accept", "application/graphql-response+json"))
        }
        let response: TransportResponse
        do {
            response = try await transport.send(
                TransportRequest(
                    method: "POST", path: path, headers: headers, body: JSONWriter.compact(body),
                    timeoutMs: options.requestTimeout.milliseconds))
        } catch {
            switch error.kind {
            case .notSent: throw FreshetError(.offline, error.reason)
            case .lost: throw FreshetError(.offline, error.reason, serverCode: FreshetError.lostAnswer)
            case .timeout: throw FreshetError(.timeout, error.reason)
            }
        }
        return try Self.read(response, isMutation: key != nil)
    }

    private static func encoded(_ name: String) -> String {
        name.addingPercentEncoding(withAllowedCharacters: .urlHostAllowed) ?? name
    }

    /// Reads an answer of the server. Anything else comes from something in between, such as the page of a proxy or of
    /// a network that wants a login, and says nothing about the operation.
    private static func read(
        _ response: TransportResponse, isMutation: Bool
    ) throws(FreshetError) -> OperationResponse {
        let body = try? JSONParser.parse(response.body, limits: JSONLimits(bytesMax: .max))
        let errors = (body?["errors"]?.arrayValue ?? []).map { ResponseError(AnyValue(json: $0)) }
        if let data = body?["data"], !data.isNull, response.status == 200 || !isMutation {
            let position = response.headers["x-freshet-position"].map(MutationPosition.init(rawValue:))
            return OperationResponse(data: data, errors: errors, position: position)
        }
        // A request that arrived too slowly (408) has not run.
        guard !errors.isEmpty, response.status != 408 else {
            throw FreshetError(
                .unavailable, "something answered in place of the server, with status \(response.status)",
                retryAfterMs: response.retryAfterMs)
        }
        throw FreshetError(errors, retryAfterMs: response.retryAfterMs)
    }
}
