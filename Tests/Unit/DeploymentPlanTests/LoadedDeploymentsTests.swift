import DeploymentPlan
import Testing

/// The time from which all mutations of a node are published by the rules of a deployment.
@Suite struct LoadedDeploymentsTests {
    @Test func deploymentIsReachedWithoutMutationsAtOnce() {
        var deployments = LoadedDeployments(1)
        deployments.replaced(2)
        #expect(deployments.reached == 2)
        #expect(deployments.began() == 2)
        #expect(deployments.reached == 2)
    }

    @Test func deploymentIsReachedWhenTheLastEarlierMutationEnds() {
        var deployments = LoadedDeployments(1)
        let first = deployments.began()
        let second = deployments.began()
        deployments.replaced(2)
        let third = deployments.began()
        #expect([first, second, third] == [1, 1, 2])
        deployments.ended(first)
        deployments.ended(third)
        #expect(deployments.reached == 1)
        deployments.ended(second)
        #expect(deployments.reached == 2)
    }

    @Test func loweredDeploymentCountsAtOnce() {
        var deployments = LoadedDeployments(5)
        let mutation = deployments.began()
        deployments.replaced(4)
        #expect(deployments.reached == 4)
        deployments.ended(mutation)
        #expect(deployments.reached == 4)
    }
}
