import LiveModel
import Testing

@testable import RoleMachines

@Suite struct MutationLifecycleTests {
    private let targets = PublisherFixture.targets(of: PublisherFixture.mutation, rules: .init(loadedDeployment: 2))

    private var lifecycle: MutationLifecycle {
        MutationLifecycle(of: PublisherFixture.mutation, targets: targets, begunUnder: 2)
    }

    private func row(_ shards: [ShardID]) -> OutboxRow { OutboxRow(id: "e", shards: shards, event: []) }

    @Test func committedMutationEndsAfterThePublisherHasItsEvent() {
        let row = row(targets.shards)
        #expect(
            lifecycle.ended(committed: row) == [
                .publish(.init(row: row, mutation: PublisherFixture.mutation, targets: targets)),
                .end(loadedDeployment: 2),
            ])
    }

    @Test func rowForLaterDeploymentsIsLeftToTheSweepers() {
        #expect(lifecycle.ended(committed: row([])) == [.end(loadedDeployment: 2)])
    }

    @Test func mutationThatMayNotHaveCommittedEnds() {
        #expect(lifecycle.ended(committed: nil) == [.end(loadedDeployment: 2)])
    }
}
