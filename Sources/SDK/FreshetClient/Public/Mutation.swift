import FreshetStore
public import FreshetTypes
import JSON

/// A stored mutation with its variables.
public struct Mutation<Operation: MutationOperation>: Sendable {
    public let link: ConnectorLink
    public let variables: Operation.Variables

    public init(_ link: ConnectorLink, _ variables: Operation.Variables) {
        self.link = link
        self.variables = variables
    }

    /// Runs the mutation and waits for its commit. A lost or late answer is asked for again with the same key, at most
    /// `retriesMax` times; a request takes at most `requestTimeout`.
    ///
    /// - Parameter key: the server applies it once. An app that wants to try again after an error passes the error's
    ///   `idempotencyKey`, or the one that it made before, also in a later run.
    /// - Throws: with the key: `.offline` if the server is not reached; `.timeout` and `.outcomeUnknown` if it may have
    ///   been applied, by an earlier attempt too; `.refused` with the server's code; `.alreadyApplied` if the answer is
    ///   no longer there; `.unauthenticated`; `.userChanged`.
    public func run(
        key: IdempotencyKey = IdempotencyKey()
    ) async throws(FreshetError) -> MutationResult<Operation.Data> {
        do throws(FreshetError) {
            return try MutationResult(try await answer(key: key), of: Operation.name)
        } catch {
            throw error.with(key)
        }
    }

    /// Runs the mutation; the answer is without its type.
    package func answer(key: IdempotencyKey) async throws(FreshetError) -> MutationData {
        do throws(FreshetError) {
            return try await link.engine().run(Operation.name, variables.object, key: key)
        } catch {
            throw error.with(key)
        }
    }

    /// Puts the mutation into the queue, which sends it as soon as the server is reached, in this run of the app or a
    /// later one (with a persistent cache), and applies it once. When this returns, it is kept.
    ///
    /// - Parameters:
    ///   - group: mutations of one group are sent in order, one after the other.
    ///   - edits: what it is expected to change in rows, and the rows that it adds. Results show that at once; it is
    ///     undone if the server refuses.
    /// - Throws: `.invalidEdit` if a row cannot be added, `.queueFull`, `.storage`, and `.userChanged` if another user
    ///   has signed in meanwhile. Then it is not kept.
    nonisolated(nonsending) public func enqueue(
        group: String = "", optimistic edits: (inout OptimisticEdits) -> Void = { _ in }
    ) async throws(FreshetError) -> QueuedResult<Operation> {
        let engine = try link.engine()
        let shown = try await engine.shownRows()
        var expected = OptimisticEdits(
            of: link, shown: { shown.fields(of: $0) }, documents: { shown.document(of: $0) })
        edits(&expected)
        if let failure = expected.failure { throw failure }
        let id = try await engine.enqueue(
            Operation.name, variables.object, group: group, changes: expected.changes, as: shown.scope)
        return QueuedResult(link: link, id: id)
    }
}

/// The answer to a mutation.
public struct MutationResult<Data: OperationData>: Sendable, Hashable {
    public let data: Data
    /// Errors of single fields; the others are committed.
    public let errors: [ResponseError]
    /// The position for `wait(for:)`; nil if the mutation concerns no live query, or the server names none.
    public let position: MutationPosition?

    public init(data: Data, errors: [ResponseError] = [], position: MutationPosition? = nil) {
        self.data = data
        self.errors = errors
        self.position = position
    }

    package init(_ answer: MutationData, of name: String) throws(FreshetError) {
        do {
            self.init(data: try Data(result: answer.data), errors: answer.errors, position: answer.position)
        } catch {
            if answer.data.isNull {
                throw FreshetError(
                    .alreadyApplied, "\(name) was applied, and the server did not keep its answer",
                    serverCode: "ALREADY_APPLIED")
            }
            if !answer.errors.isEmpty { throw FreshetError(failedFields: answer.errors, committed: answer.data) }
            throw FreshetError(.unreadable, "\(name) was applied, but its answer does not fit: \(error)")
        }
    }
}

/// A mutation in the queue.
public struct QueuedResult<Operation: MutationOperation>: Sendable {
    let link: ConnectorLink
    /// Its idempotency key.
    public let id: String

    /// Waits for the server's answer, however long that takes.
    /// - Throws: `.refused` with the server's code; `.outcomeUnknown` if the server may have forgotten the key, or it
    ///   refused after an attempt that may have been applied, or if 256 later ones have been answered since;
    ///   `.alreadyApplied` if it was applied and its answer is not there; `.closed` if the task is cancelled.
    public var value: MutationResult<Operation.Data> {
        get async throws(FreshetError) {
            let outcome = await (try link.engine()).outcome(of: id)
            return try MutationResult(try outcome.get(), of: Operation.name)
        }
    }
}

/// An answer without its type.
public struct MutationData: Sendable, Hashable {
    /// Null: the mutation was applied, and the server did not keep its answer.
    public let data: AnyValue
    public let errors: [ResponseError]
    /// The position for `wait(for:)`.
    public let position: MutationPosition?

    public init(data: AnyValue, errors: [ResponseError], position: MutationPosition? = nil) {
        self.data = data
        self.errors = errors
        self.position = position
    }

    init(_ response: OperationResponse) {
        self.init(
            data: AnyValue(json: response.data), errors: response.errors, position: response.position)
    }
}

/// The outcome of a queued mutation.
public struct QueueEvent: Sendable {
    /// Its idempotency key.
    public let id: String
    public let operation: String
    public let outcome: Result<MutationData, FreshetError>
}

/// A mutation that waits for the server.
public struct PendingMutation: Sendable, Hashable, Identifiable {
    public let id: String
    public let operation: String
    /// The time of `enqueue`, in milliseconds since 1970.
    public let enqueuedAtMs: Int64
}
