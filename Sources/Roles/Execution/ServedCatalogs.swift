package import Catalog
package import LiveModel
import Synchronization

/// The catalogs of this node, swapped while it runs: whoever needs one takes it at the beginning of its work and keeps
/// it to the end.
///
/// Why no refresh is missed while nodes differ: a deployment is first announced, and no request gets it before every
/// node has loaded it. From then on a node publishes by the rules of all versions together. `generationReached` counts
/// a node in only when also the last mutation that began by fewer rules has ended, so every mutation that ends later
/// than the first result of the new version is published by its rules. A node that nobody could ask (paused, cut off)
/// is found when an outbox row is removed: that refuses while there is a deployment which the publisher has not loaded.
package final class ServedCatalogs: Sendable {
    package final class Snapshot: Sendable {
        package let set: CatalogSet
        /// Of the current catalog.
        package let resolver: OperationLookup
        /// Of those that were current before and are still served, youngest first: clients may send their texts.
        package let formers: [OperationLookup]
        /// The greatest id of deployments that is loaded, with all before it.
        package let generation: Int64

        init(set: CatalogSet, known: [OperationLookup], generation: Int64) {
            // Parses every text of what is not known yet.
            func resolver(_ member: CatalogSet.Member) -> OperationLookup {
                known.first { $0.version == member.version }
                    ?? OperationLookup(catalog: member.catalog, version: member.version)
            }
            self.set = set
            self.resolver = resolver(set.current)
            formers = set.formers.map(resolver)
            self.generation = generation
        }
    }

    private struct State {
        var snapshot: Snapshot
        /// Mutations that began by each generation. Bound: mutations in flight.
        var underWay: [Int64: Int] = [:]
    }

    private let state: Mutex<State>

    /// - Parameter generation: the greatest there is, for a node that follows no deployments.
    package init(_ set: CatalogSet, generation: Int64 = .max) {
        state = Mutex(State(snapshot: Snapshot(set: set, known: [], generation: generation)))
    }

    /// For a node that follows no deployments.
    package convenience init(_ catalog: Catalog) {
        self.init(CatalogSet(current: .init(version: Digest(of: Array(catalog.serviceID.utf8)), catalog: catalog)))
    }

    package var snapshot: Snapshot { state.withLock { $0.snapshot } }
    package var set: CatalogSet { snapshot.set }

    package func replace(_ set: CatalogSet, generation: Int64) {
        let last = snapshot
        // Not under the lock that requests need.
        let snapshot = Snapshot(set: set, known: [last.resolver] + last.formers, generation: generation)
        state.withLock { $0.snapshot = snapshot }
    }

    /// What a mutation is to be published by; `ended` must follow.
    package func begin() -> Snapshot {
        state.withLock { state in
            state.underWay[state.snapshot.generation, default: 0] += 1
            return state.snapshot
        }
    }

    package func ended(_ snapshot: Snapshot) {
        state.withLock { state in
            let left = (state.underWay[snapshot.generation] ?? 1) - 1
            state.underWay[snapshot.generation] = left > 0 ? left : nil
        }
    }

    /// The generation that every mutation under way began by, or a later one.
    package var generationReached: Int64 {
        state.withLock { min($0.snapshot.generation, $0.underWay.keys.min() ?? .max) }
    }
}
