import DeploymentPlan
import Testing

/// The time from which all mutations of a node are published by the rules of a generation.
@Suite struct ServedGenerationsTests {
    @Test func generationIsReachedWithoutMutationsAtOnce() {
        var generations = ServedGenerations(1)
        generations.replaced(2)
        #expect(generations.reached == 2)
        #expect(generations.began() == 2)
        #expect(generations.reached == 2)
    }

    @Test func generationIsReachedWhenTheLastEarlierMutationEnds() {
        var generations = ServedGenerations(1)
        let first = generations.began()
        let second = generations.began()
        generations.replaced(2)
        let third = generations.began()
        #expect([first, second, third] == [1, 1, 2])
        generations.ended(first)
        generations.ended(third)
        #expect(generations.reached == 1)
        generations.ended(second)
        #expect(generations.reached == 2)
    }

    @Test func loweredGenerationCountsAtOnce() {
        var generations = ServedGenerations(5)
        let mutation = generations.began()
        generations.replaced(4)
        #expect(generations.reached == 4)
        generations.ended(mutation)
        #expect(generations.reached == 4)
    }
}
