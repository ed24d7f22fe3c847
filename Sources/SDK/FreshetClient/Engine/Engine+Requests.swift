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
        let user = scope
        let liveBefore = liveResults
        let response = try await execute(query.key.operation, query.variables, key: nil)
        guard scope == user else { throw FreshetError(.userChanged, "the user has changed") }
        guard response.errors.isEmpty else {
            throw FreshetError(response.errors, partialData: AnyValue(json: response.data))
        }
        // A live result that came meanwhile may be newer.
        if liveResults == liveBefore || feeds.isEmpty {
            let outcome = store.write(
                query.key, response.data, query.entities, revision: query.revision, atMs: time.wallMs)
            apply(outcome)
        }
        let document = store.read(query.key, revision: query.revision)?.document ?? response.data
        return FeedSnapshot(document: document, source: .server, fetchedAtMs: time.wallMs)
    }

    private func isUsable(_ key: ResultKey, _ stored: StoredDocument, _ policy: FetchPolicy) -> Bool {
        let maxAgeMs = cache.maxAge.milliseconds
        switch policy {
        case .cacheOnly: return true
        case .serverOnly: return false
        case .preferCache:
            if maxAgeMs > 0, feeds[key]?.snapshot.isConfirmed == true { return true }
            return maxAgeMs > 0 && time.wallMs - stored.fetchedAtMs <= maxAgeMs
        }
    }

    /// Runs a mutation now.
    package func run(_ operation: String, _ variables: JSONObject) async throws(FreshetError) -> MutationData {
        try await prepare()
        let response = try await execute(operation, variables, key: UUID().uuidString.lowercased())
        return MutationData(response)
    }

    /// Sends an operation until it is answered, as far as `retriesMax` allows.
    /// - Parameter key: the idempotency key of a mutation.
    func execute(
        _ operation: String, _ variables: JSONObject, key: String?
    ) async throws(FreshetError) -> OperationResponse {
        var attempts = 0
        var rejected: String?? = nil
        while true {
            let token = try await token(rejected: rejected)
            let error: FreshetError
            do throws(FreshetError) {
                return try await executeOnce(operation, variables, key, token)
            } catch let failure {
                error = failure
            }
            attempts += 1
            if error.code == .unauthenticated, rejected == nil, token != nil {
                // Asked again once; the token may have expired a moment ago.
                rejected = .some(token)
                continue
            }
            guard attempts <= options.retriesMax, Self.isRetried(error), !Task.isCancelled else { throw error }
            let delayMs = max(Int64(100) << Int64(attempts), error.retryAfterMs ?? 0)
            guard delayMs < options.requestTimeout.milliseconds else { throw error }
            await time.sleep(untilMs: time.nowMs + delayMs)
            if Task.isCancelled { throw error }
        }
    }

    /// Whether a second attempt makes sense at once: after a lost answer or for a busy server, not without a network.
    private static func isRetried(_ error: FreshetError) -> Bool {
        switch error.code {
        case .unavailable: true
        case .offline: error.serverCode == Self.lostAnswer
        default: false
        }
    }

    private static let lostAnswer = "LOST_ANSWER"

    private func executeOnce(
        _ operation: String, _ variables: JSONObject, _ key: String?, _ token: String?
    ) async throws(FreshetError) -> OperationResponse {
        var headers: [(name: String, value: String)] = [
            ("content-type", "application/json"), ("accept", "application/graphql-response+json"),
        ]
        if let token { headers.append(("authorization", "Bearer " + token)) }
        if let key { headers.append(("idempotency-key", key)) }
        let body = JSONWriter.compact([
            "query": "", "operationName": .string(operation), "variables": .object(variables),
            "extensions": ["connector": .string(identity.connector)],
        ])
        let response: TransportResponse
        do {
            response = try await transport.send(
                TransportRequest(
                    method: "POST", path: "/graphql", headers: headers, body: body,
                    timeoutMs: options.requestTimeout.milliseconds))
        } catch {
            switch error.kind {
            case .notSent: throw FreshetError(.offline, error.reason)
            case .lost: throw FreshetError(.offline, error.reason, serverCode: Self.lostAnswer)
            case .timeout: throw FreshetError(.timeout, error.reason)
            }
        }
        return try Self.read(response)
    }

    private static func read(_ response: TransportResponse) throws(FreshetError) -> OperationResponse {
        let retryAfterMs = response.retryAfterMs
        guard let body = try? JSONParser.parse(response.body, limits: JSONLimits(bytesMax: .max)),
            case .object(let object) = body
        else {
            let code: FreshetError.Code = response.status >= 500 || response.status == 429 ? .unavailable : .refused
            throw FreshetError(
                code, "the server answered with status \(response.status)", retryAfterMs: retryAfterMs)
        }
        let errors = (object["errors"]?.arrayValue ?? []).map { ResponseError(AnyValue(json: $0)) }
        guard let data = object["data"], !data.isNull else {
            throw FreshetError(errors, retryAfterMs: retryAfterMs)
        }
        let position = response.headers["x-freshet-position"].map(MutationPosition.init(rawValue:))
        return OperationResponse(data: data, errors: errors, position: position)
    }
}
