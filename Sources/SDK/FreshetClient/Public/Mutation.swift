package import FreshetStore
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

    /// Runs the mutation and waits for its commit. It carries an idempotency key, so that a lost answer is asked for
    /// again without applying it twice.
    /// - Throws: `.offline` if the server is not reached; `.refused` with the server's code.
    public func run() async throws(FreshetError) -> MutationResult<Operation.Data> {
        try MutationResult(try await link.engine().run(Operation.name, variables.object), of: Operation.name)
    }

    /// Puts the mutation into the queue, which sends it as soon as the server is reached, in this run of the app or a
    /// later one (with a persistent cache), and applies it once. When this returns, it is kept.
    ///
    /// - Parameters:
    ///   - group: mutations of one group are sent in order, one after the other.
    ///   - edits: what it is expected to change. Results show that at once; it is undone if the server refuses.
    nonisolated(nonsending) public func enqueue(
        group: String = "", optimistic edits: (inout OptimisticEdits) -> Void = { _ in }
    ) async throws(FreshetError) -> QueuedResult<Operation> {
        var expected = OptimisticEdits()
        edits(&expected)
        let engine = try link.engine()
        let id = try await engine.enqueue(
            Operation.name, variables.object, group: group, changes: expected.changes)
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
            if !answer.errors.isEmpty { throw FreshetError(answer.errors, partialData: answer.data) }
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
    /// - Throws: `.refused` with the server's code; `.outcomeUnknown`; `.closed` if the task is cancelled.
    public var value: MutationResult<Operation.Data> {
        get async throws(FreshetError) {
            let outcome = await (try link.engine()).outcome(of: id)
            return try MutationResult(try outcome.get(), of: Operation.name)
        }
    }
}

/// An answer without its type.
public struct MutationData: Sendable, Hashable {
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

/// The changes that are expected of a mutation.
///
///     try await movies.updateMovie(id: id, genre: "Drama", description: text).enqueue { expected in
///         expected[MovieKey(id: id)].genre = "Drama"
///     }
public struct OptimisticEdits: Sendable {
    package private(set) var changes: [OptimisticChange] = []

    package init() {}

    /// The fields of a row, by response key. Reading gives what was set here.
    public subscript(key: some EntityKey) -> RowEdit {
        get { RowEdit(fields: fields(key)) }
        set { put(key, newValue.fields) }
    }

    /// The row goes away.
    public mutating func delete(_ key: some EntityKey) { put(key, nil) }

    private func fields(_ key: some EntityKey) -> JSONObject {
        changes.last { $0.type == type(of: key).entityType && $0.key == key.keyValues.map(\.json) }?.fields
            ?? JSONObject()
    }

    private mutating func put(_ key: some EntityKey, _ fields: JSONObject?) {
        let type = type(of: key).entityType
        let values = key.keyValues.map(\.json)
        changes.removeAll { $0.type == type && $0.key == values }
        changes.append(OptimisticChange(type: type, key: values, fields: fields))
    }
}

/// The expected fields of one row.
@dynamicMemberLookup
public struct RowEdit: Sendable {
    var fields: JSONObject

    public subscript(dynamicMember name: String) -> AnyValue? {
        get { fields[name].map(AnyValue.init(json:)) }
        set { fields[name] = newValue?.json }
    }

    public mutating func set(_ name: String, _ value: some VariableValue) { fields[name] = value.variableValue.json }
}
