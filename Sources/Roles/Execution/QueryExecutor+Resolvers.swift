import Catalog
import JSON
import LiveModel
import Operations
import Synchronization

extension QueryExecutor {
    /// Adds the fields of custom resolvers.
    func complete(
        _ result: Result, _ operation: StoredOperation, _ variables: JSONObject
    ) async throws(RequestError) -> Result {
        let calls = operation.remoteCalls(variables: variables)
        if calls.isEmpty { return result }
        guard let resolvers else { throw RequestError(.internalError, "custom resolvers are not set up on this node") }
        let values: [String: [UInt8]]
        do throws(RequestError) {
            values = try await resolvers.results(of: calls)
        } catch {
            // Reading changes nothing, so it can be repeated.
            guard error.code == .outcomeUnknown else { throw error }
            var unavailable = RequestError(.unavailable, error.message, path: error.path)
            unavailable.cause = error.cause
            throw unavailable
        }
        let body = RemoteResults.merge(result.answer.body, values)
        return Result(body: body, digest: Digest(of: body))
    }

    func complete(_ outcomes: [Outcome], _ operation: StoredOperation, _ items: [Item]) async -> [Outcome] {
        let first = remoteStart.wrappingAdd(RemoteRound.inFlightMax, ordering: .relaxed).oldValue & .max
        return await withTaskGroup(of: (index: Int, outcome: Outcome).self) { group in
            var round = RemoteRound(outcomes, first: first)
            while true {
                while let call = round.next() {
                    let item = items[call.index]
                    group.addTask {
                        do throws(RequestError) {
                            let complete = try await self.complete(call.result, operation, item.variables)
                            return (call.index, complete.digest == item.knownDigest ? .unchanged : .result(complete))
                        } catch {
                            return (call.index, .failed(error))
                        }
                    }
                }
                guard let ended = await group.next() else { return round.outcomes }
                round.ended(ended.index, ended.outcome)
            }
        }
    }
}
