import Foundation
import FreshetQueue
import FreshetSQLite
package import FreshetStore
package import FreshetTypes
package import JSON

extension Engine {
    /// How many mutations of the present user wait.
    var pendingCount: Int { scope.flatMap { queues[$0]?.count } ?? 0 }

    /// Puts a mutation into the queue; it is kept when this returns.
    /// - Returns: its id.
    package func enqueue(
        _ operation: String, _ variables: JSONObject, group: String, changes: [OptimisticChange]
    ) async throws(FreshetError) -> String {
        try await prepare()
        guard let scope else { throw FreshetError(.closed, "there is no user") }
        let mutation = QueuedMutation(
            id: UUID().uuidString.lowercased(), operation: operation,
            variables: JSONValue.object(variables).description, group: group,
            changes: JSONValue.array(changes.map(\.stored)).description, enqueuedAtMs: time.wallMs)
        var queue = queues[scope] ?? newQueue()
        let actions = try queue.enqueue(mutation, nowMs: time.wallMs)
        queues[scope] = queue
        apply(store.apply(mutation.id, changes))
        do throws(FreshetError) {
            try await perform(actions, scope)
        } catch {
            apply(store.revert(mutation.id))
            throw error
        }
        emitAll()
        return mutation.id
    }

    /// The fields of rows that the present user's results show, as they are now.
    package func shownRows() async throws(FreshetError) -> @Sendable (EntityID) -> JSONObject? {
        try await prepare()
        let store = store
        return { store.fields(of: $0) }
    }

    private func newQueue() -> QueueMachine {
        QueueMachine(limits: QueueLimits(countMax: options.queuedMutationsMax))
    }

    /// Brings a user's mutations of earlier runs, with what they are expected to change.
    func loadQueue(_ scope: String) async {
        let saved = await file?.mutations(scope: scope) ?? []
        guard self.scope == scope else { return }
        var queue = queues[scope] ?? newQueue()
        _ = queue.load(saved, nowMs: time.wallMs)
        for mutation in queue.mutations { apply(store.apply(mutation.id, Self.changes(mutation))) }
        let actions = queue.setOnline(!isStopped, nowMs: time.wallMs)
        queues[scope] = queue
        try? await perform(actions, scope)
        reschedule()
    }

    private static func changes(_ mutation: QueuedMutation) -> [OptimisticChange] {
        let stored = try? JSONParser.parse(mutation.changes)
        return (stored?.arrayValue ?? []).compactMap(OptimisticChange.init(stored:))
    }

    func setQueueOnline() async {
        guard let scope, !isStopped else { return }
        let actions = queues[scope]?.setOnline(true, nowMs: time.wallMs) ?? []
        try? await perform(actions, scope)
        reschedule()
    }

    func tickQueue() async {
        // The queue counts in wall-clock time; its deadline is only a hint to look again.
        guard let scope else { return }
        let actions = queues[scope]?.tick(nowMs: time.wallMs) ?? []
        try? await perform(actions, scope)
    }

    private func perform(_ actions: [QueueAction], _ scope: String) async throws(FreshetError) {
        for action in actions {
            switch action {
            case .save(let mutation): try await file?.save(mutation, scope: scope)
            case .delete(let id): await file?.deleteMutation(id)
            case .send(let mutation): send(mutation, scope)
            case .applied(let mutation): settle(mutation, scope, nil)
            case .failed(let mutation, let error): settle(mutation, scope, error)
            }
        }
    }

    private func send(_ mutation: QueuedMutation, _ scope: String) {
        Task {
            let answer: MutationAnswer
            do throws(FreshetError) {
                guard self.scope == scope else { throw FreshetError(.offline, "the user has changed") }
                let variables = (try? JSONParser.parse(mutation.variables))?.objectValue ?? JSONObject()
                let response = try await execute(mutation.operation, variables, key: mutation.id)
                answers[mutation.id] = MutationData(response)
                answer = .applied
            } catch {
                answer = Self.answer(error)
            }
            let actions = queues[scope]?.answered(id: mutation.id, answer, nowMs: time.wallMs) ?? []
            try? await perform(actions, scope)
            answers[mutation.id] = nil
            emitAll()
            reschedule()
        }
    }

    /// A mutation waits on while the server cannot be asked, or not as this user.
    private static func answer(_ error: FreshetError) -> MutationAnswer {
        switch error.code {
        case .offline, .timeout, .unavailable, .unauthenticated: .unanswered(retryAfterMs: error.retryAfterMs)
        case .refused where error.serverCode == "OUTCOME_UNKNOWN": .unanswered(retryAfterMs: nil)
        default: .refused(error)
        }
    }

    private func settle(_ mutation: QueuedMutation, _ scope: String, _ error: FreshetError?) {
        if self.scope == scope {
            apply(error == nil ? store.commit(mutation.id) : store.revert(mutation.id))
        }
        let outcome: Result<MutationData, FreshetError> =
            error.map(Result.failure) ?? .success(answers[mutation.id] ?? MutationData(data: .null, errors: []))
        let event = QueueEvent(id: mutation.id, operation: mutation.operation, outcome: outcome)
        settled.append(event)
        if settled.count > Self.settledMax { settled.removeFirst() }
        for continuation in queueEvents.values { continuation.yield(event) }
    }

    /// Waits for the answer to a mutation, of this run or an earlier one.
    package func outcome(of id: String) async -> Result<MutationData, FreshetError> {
        if let event = settled.last(where: { $0.id == id }) { return event.outcome }
        for await event in queueStream() where event.id == id { return event.outcome }
        return .failure(FreshetError(.closed, "nobody waits for the outcome any more"))
    }

    private func emitAll() {
        for key in feeds.keys.sorted() { emit(key) }
    }

    package func pendingMutations() async throws(FreshetError) -> [PendingMutation] {
        try await prepare()
        return (scope.flatMap { queues[$0]?.mutations } ?? []).map {
            PendingMutation(id: $0.id, operation: $0.operation, enqueuedAtMs: $0.enqueuedAtMs)
        }
    }

    package func queueStream() -> AsyncStream<QueueEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: QueueEvent.self, bufferingPolicy: .bufferingNewest(1_024))
        let number = number()
        queueEvents[number] = continuation
        continuation.onTermination = { [weak self] _ in
            Task { [weak self] in await self?.endQueueStream(number) }
        }
        return stream
    }

    private func endQueueStream(_ number: Int) { queueEvents[number] = nil }
}
