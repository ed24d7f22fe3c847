package import LiveModel

/// The lifecycle of one mutation on an API node: what follows its transaction, and in which order.
///
/// A mutation counts as begun under the deployment that is loaded when its targets are chosen, and as ended only once
/// the publisher has its event: a deployment that a node reports as reached applies to every event that the publisher
/// gets from then on (`LoadedDeployments`).
package struct MutationLifecycle: Sendable {
    package enum Step: Sendable, Hashable {
        /// Hand the event to the publisher.
        case publish(PublisherMachine.Committed)
        /// Count the mutation as ended under this deployment.
        case end(loadedDeployment: Int64)
    }

    package let mutation: OperationReference
    package let targets: RefreshTargets
    private let outbox: OutboxKind

    /// - Parameters:
    ///   - loadedDeployment: the deployment under which the mutation was counted as begun.
    ///   - outbox: where the event is left; the reader of the log publishes what is there.
    package init(
        of mutation: OperationReference, targets: RefreshTargets, begunUnder loadedDeployment: Int64,
        outbox: OutboxKind = .table
    ) {
        precondition(
            targets.loadedDeployment == loadedDeployment,
            "\(mutation) began under deployment \(loadedDeployment), its targets are of \(targets.loadedDeployment)")
        self.mutation = mutation
        self.targets = targets
        self.outbox = outbox
    }

    /// Returns what to do when the transaction has ended, in order.
    /// - Parameter row: the event's row, as committed; nil if nothing was committed or the outcome is unknown: then the
    ///   sweepers publish the row, if there is one.
    package func ended(committed row: OutboxRow?) -> [Step] {
        let end = Step.end(loadedDeployment: targets.loadedDeployment)
        guard let row, !row.isForLaterDeployments, outbox == .table else { return [end] }
        return [.publish(.init(row: row, mutation: mutation, targets: targets)), end]
    }
}
