import Foundation
import FreshetQueue
import FreshetSQLite
package import FreshetStore
package import FreshetTypes
package import JSON

extension Engine {
    /// How many mutations of the present user wait, or were applied and may not be shown yet.
    var pendingCount: Int { scope.flatMap { queues[$0]?.pendingCount } ?? 0 }

    /// When the present user's queue tries again, in milliseconds since 1970; nil: it does not wait.
    package var queueRetryAtMs: Int64? { scope.flatMap { queues[$0]?.deadlineMs } }

    /// Puts a mutation into the queue; it is kept when this returns.
    /// - Parameter scope: the user for whom `changes` were made.
    /// - Returns: its id.
    /// - Throws: `.userChanged` if the user is another one by now; `.queueFull`; `.storage`.
    package func enqueue(
        _ operation: String, _ variables: JSONObject, group: String, changes: [OptimisticChange], as scope: String
    ) async throws(FreshetError) -> String {
        try await prepare()
        guard self.scope == scope else { throw Self.userChanged }
        let mutation = QueuedMutation(
            id: UUID().uuidString.lowercased(), operation: operation,
            variables: JSONValue.object(variables).description, group: group,
            changes: JSONValue.array(changes.map(\.stored)).description, enqueuedAtMs: time.wallMs)
        var queue = queues[scope] ?? newQueue()
        let actions = try queue.enqueue(mutation, nowMs: time.wallMs)
        queues[scope] = queue
        unsettled.insert(mutation.id)
        apply(store.apply(mutation.id, changes))
        if let error = await perform(actions, scope)[mutation.id] {
            await perform(queues[scope]?.discard(id: mutation.id, nowMs: time.wallMs) ?? [], scope)
            if self.scope == scope { apply(store.revert(mutation.id)) }
            unsettled.remove(mutation.id)
            throw error
        }
        emitAll()
        return mutation.id
    }

    /// The rows that the present user's results show, as they are now.
    package func shownRows() async throws(FreshetError) -> ShownRows {
        try await prepare()
        return ShownRows(scope: try user(), store: store)
    }

    private func newQueue() -> QueueMachine {
        QueueMachine(limits: QueueLimits(countMax: options.queuedMutationsMax))
    }

    /// Brings a user's mutations of earlier runs, with what they are expected to change.
    func loadQueue(_ scope: String) async {
        let saved = await file?.mutations(scope: scope) ?? []
        guard self.scope == scope else { return }
        var queue = queues[scope] ?? newQueue()
        let actions = queue.load(saved, nowMs: time.wallMs) + queue.setOnline(!isStopped, nowMs: time.wallMs)
        queues[scope] = queue
        unsettled.formUnion(queue.mutations.map(\.id))
        showQueue()
        await perform(actions, scope)
        reschedule()
    }

    /// Shows what the waiting mutations of the present user are expected to change.
    func showQueue() {
        for mutation in scope.flatMap({ queues[$0]?.mutations }) ?? [] {
            apply(store.apply(mutation.id, Self.changes(mutation)))
            if mutation.firstSentAtMs != nil { store.sending(mutation.id) }
        }
    }

    private static func changes(_ mutation: QueuedMutation) -> [OptimisticChange] {
        let stored = try? JSONParser.parse(mutation.changes)
        return (stored?.arrayValue ?? []).compactMap(OptimisticChange.init(stored:))
    }

    func setQueueOnline() async {
        await queueLoading?.value
        guard let scope, !isStopped else { return }
        let actions = queues[scope]?.setOnline(true, nowMs: time.wallMs) ?? []
        await perform(actions, scope)
        reschedule()
    }

    func tickQueue() async {
        // The queue counts in wall-clock time; its deadline is only a hint to look again.
        guard let scope else { return }
        let actions = queues[scope]?.tick(nowMs: time.wallMs) ?? []
        await perform(actions, scope)
    }

    /// - Returns: the new mutations that could not be saved, with the reason.
    @discardableResult
    private func perform(_ actions: [QueueAction], _ scope: String) async -> [String: FreshetError] {
        var unsaved: [String: FreshetError] = [:]
        var unsent: Set<String> = []
        for action in actions {
            switch action {
            case .save(let mutation):
                if unsent.contains(mutation.id) { continue }
                do throws(FreshetError) {
                    try await file?.save(mutation, scope: scope)
                } catch {
                    unsent.insert(mutation.id)
                    if mutation.firstSentAtMs == nil { unsaved[mutation.id] = error }
                }
            case .delete(let id): await file?.deleteMutation(id)
            case .send(let mutation) where unsent.contains(mutation.id):
                queues[scope]?.notSent(id: mutation.id, nowMs: time.wallMs)
            case .send(let mutation): send(mutation, scope)
            case .applied(let mutation, let wait): settle(mutation, scope, nil, wait)
            case .failed(let mutation, let error): settle(mutation, scope, error)
            }
        }
        return unsaved
    }

    private func send(_ mutation: QueuedMutation, _ scope: String) {
        if self.scope == scope { store.sending(mutation.id) }
        Task {
            let answer: MutationAnswer
            var position: MutationPosition?
            var mayBeApplied = false
            do throws(ExecutionFailure) {
                let variables = (try? JSONParser.parse(mutation.variables))?.objectValue ?? JSONObject()
                let response = try await execute(mutation.operation, variables, key: mutation.id, as: scope)
                answers[mutation.id] = MutationData(response)
                position = response.position
                answer = .applied
            } catch {
                answer = MutationAnswer(error.error)
                mayBeApplied = error.mayBeApplied
                if case .unanswered = answer, !mayBeApplied { await unsent(mutation.id, scope) }
            }
            let actions =
                queues[scope]?.answered(
                    id: mutation.id, answer, position: position, mayBeApplied: mayBeApplied, nowMs: time.wallMs) ?? []
            await perform(actions, scope)
            answers[mutation.id] = nil
            emitAll()
            reschedule()
        }
    }

    /// No attempt of a sending was applied.
    private func unsent(_ id: String, _ scope: String) async {
        let actions = queues[scope]?.unsent(id: id) ?? []
        if !actions.isEmpty, self.scope == scope { store.unsent(id) }
        await perform(actions, scope)
    }

    private func settle(
        _ mutation: QueuedMutation, _ scope: String, _ error: FreshetError?, _ wait: ResultsWait = .none
    ) {
        var assumed = AssumedResults()
        if self.scope == scope {
            let outcome = error == nil ? store.commit(mutation.id) : store.revert(mutation.id)
            assumed = AssumedResults(keys: outcome.assumed, asOf: store.uses)
            let unconfirmed = wait == .none ? unconfirmAssumed(assumed) : []
            apply(outcome)
            fetchAgain(unconfirmed)
        }
        let outcome: Result<MutationData, FreshetError> =
            error.map(Result.failure) ?? .success(answers[mutation.id] ?? MutationData(data: .null, errors: []))
        let event = QueueEvent(id: mutation.id, operation: mutation.operation, outcome: outcome)
        unsettled.remove(event.id)
        settled.append(event)
        if settled.count > Self.settledMax { settled.removeFirst() }
        for continuation in queueEvents.values { continuation.yield(event) }
        for continuation in (outcomeWaiters.removeValue(forKey: event.id) ?? [:]).values {
            continuation.yield(event)
            continuation.finish()
        }
        switch wait {
        case .none: break
        case .until(let position): awaitResults(mutation.id, position, assumed, scope)
        case .untilNow: awaitResults(mutation.id, nil, assumed, scope)
        }
    }

    /// Waits for the answer to a mutation of this run.
    /// - Returns: `.outcomeUnknown` if the mutation neither waits nor is among the last that were answered.
    package func outcome(of id: String) async -> Result<MutationData, FreshetError> {
        if let event = settled.last(where: { $0.id == id }) { return event.outcome }
        guard unsettled.contains(id) else {
            return .failure(FreshetError(.outcomeUnknown, "only the last \(Self.settledMax) outcomes are kept"))
        }
        let number = number()
        let (stream, continuation) = AsyncStream.makeStream(of: QueueEvent.self, bufferingPolicy: .bufferingNewest(1))
        outcomeWaiters[id, default: [:]][number] = continuation
        continuation.onTermination = { [weak self] _ in
            Task { [weak self] in await self?.endWaiter(id, number) }
        }
        for await event in stream { return event.outcome }
        return .failure(FreshetError(.closed, "nobody waits for the outcome any more"))
    }

    private func endWaiter(_ id: String, _ number: Int) {
        outcomeWaiters[id]?[number] = nil
        if outcomeWaiters[id]?.isEmpty == true { outcomeWaiters[id] = nil }
    }

    func emitAll() {
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
