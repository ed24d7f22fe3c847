package import FreshetTypes

/// A mutation that waits for its answer.
package struct QueuedMutation: Hashable, Sendable {
    /// Its idempotency key: the server applies a key once.
    package let id: String
    package let operation: String
    /// The JSON text of the variables.
    package let variables: String
    /// Mutations of one group are sent one after the other.
    package let group: String
    /// The expected changes, as JSON text.
    package let changes: String
    /// Wall-clock time, since it outlives the process.
    package let enqueuedAtMs: Int64
    /// When it was first sent; from then on it may have been applied.
    package var firstSentAtMs: Int64?

    package init(
        id: String, operation: String, variables: String, group: String, changes: String, enqueuedAtMs: Int64,
        firstSentAtMs: Int64? = nil
    ) {
        self.id = id
        self.operation = operation
        self.variables = variables
        self.group = group
        self.changes = changes
        self.enqueuedAtMs = enqueuedAtMs
        self.firstSentAtMs = firstSentAtMs
    }
}

/// Bounds of a queue.
package struct QueueLimits: Sendable, Hashable {
    /// How many mutations may wait.
    package var countMax: Int
    /// How many applied mutations are waited for at a time; further ones are not. Less than `LinkLimits.waitsMax`,
    /// which the app's own waits share.
    package var unshownMax: Int
    /// How long the server keeps keys (`api.idempotencyKeepMs`), less a margin: a mutation that was sent is not sent
    /// again later than this, because it could be applied twice.
    package var keyKeptMs: Int64
    package var backoffMinMs: Int64
    package var backoffMaxMs: Int64

    package init(
        countMax: Int = 1_000, unshownMax: Int = 256, keyKeptMs: Int64 = 23 * 3_600_000, backoffMinMs: Int64 = 500,
        backoffMaxMs: Int64 = 60_000
    ) {
        self.countMax = countMax
        self.unshownMax = unshownMax
        self.keyKeptMs = keyKeptMs
        self.backoffMinMs = backoffMinMs
        self.backoffMaxMs = backoffMaxMs
    }
}

/// The answer to a mutation, as far as the queue is concerned.
package enum MutationAnswer: Hashable, Sendable {
    case applied
    /// An earlier attempt was applied, and the server did not keep its answer.
    case alreadyApplied
    /// Refused: nothing was applied.
    case refused(FreshetError)
    /// No answer, or one that asks for patience: the same mutation is sent again with the same key.
    case unanswered(retryAfterMs: Int64?)

    /// The meaning of an error. A mutation waits on while the server cannot be asked, or not as its user, and while
    /// its key can tell what became of it.
    package init(_ error: FreshetError) {
        switch error.code {
        case .offline, .timeout, .unavailable, .unauthenticated, .userChanged, .outcomeUnknown:
            self = .unanswered(retryAfterMs: error.retryAfterMs)
        case .alreadyApplied: self = .alreadyApplied
        default: self = .refused(error)
        }
    }
}

/// The wait for live queries to show an applied mutation. Its end is reported with `QueueMachine.shown`.
package enum ResultsWait: Hashable, Sendable {
    case none
    case until(MutationPosition)
    /// A wait for what the cluster knows by now: the mutation's position is not known.
    case untilNow
}

package enum QueueAction: Hashable, Sendable {
    /// Store it before anything else happens.
    case save(QueuedMutation)
    case delete(id: String)
    case send(QueuedMutation)
    case applied(QueuedMutation, ResultsWait = .none)
    /// It was refused, or its outcome is unknown: undo what it was expected to change and tell the app.
    case failed(QueuedMutation, FreshetError)
}
