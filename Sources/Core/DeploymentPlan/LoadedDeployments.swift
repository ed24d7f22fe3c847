/// Counts mutations in progress by the deployment that was loaded when each began, so that a node reports a deployment
/// only once it applies to all of them.
///
/// The loaded deployment is the greatest id up to which every deployment is loaded. No refresh is missed while nodes
/// differ: a version is announced first, and no request gets it before every node has reached its deployment. From then
/// on, every mutation that ends is published by the rules of that version, too, including those that began earlier.
package struct LoadedDeployments: Sendable {
    package private(set) var current: Int64
    /// The number of mutations begun under each deployment. Bound: mutations in flight.
    private var underWay: [Int64: Int] = [:]

    package init(_ deployment: Int64) { current = deployment }

    /// Returns the deployment under which the mutation that begins now is published. `ended` must follow.
    package mutating func began() -> Int64 {
        underWay[current, default: 0] += 1
        return current
    }

    package mutating func ended(_ deployment: Int64) {
        guard let count = underWay[deployment] else {
            preconditionFailure("a mutation of deployment \(deployment) ended; in progress: \(underWay)")
        }
        underWay[deployment] = count > 1 ? count - 1 : nil
    }

    package mutating func replaced(_ deployment: Int64) { current = deployment }

    /// The oldest deployment under which a mutation in progress began; the current one without any.
    package var reached: Int64 { min(current, underWay.keys.min() ?? .max) }
}
