package import Catalog
package import LiveModel
import Synchronization

/// The catalogs of this node, replaced while it runs. Each piece of work takes one snapshot at its start and keeps it
/// to its end.
///
/// No refresh is missed while nodes differ. A version is announced first, and no request gets it before every node
/// has loaded it. From then on, a node publishes by the rules of all loaded versions together. `generationReached`
/// includes a generation only once the last mutation that began with fewer rules has ended. So a mutation that ends
/// after the first result of the new version is published by that version's rules. A node that cannot be reached
/// (paused or partitioned) is caught when it deletes an outbox row: the deletion is refused while a deployment exists
/// that the publisher has not loaded.
package final class ServedCatalogs: Sendable {
    package final class Snapshot: Sendable {
        package let set: CatalogSet
        /// Finds operations of the current catalog.
        package let lookup: OperationLookup
        /// Finds operations of former catalogs that are still served, newest first: clients may still send their texts.
        package let formers: [OperationLookup]
        /// The greatest deployment id up to which every deployment is loaded.
        package let generation: Int64

        init(set: CatalogSet, known: [OperationLookup], generation: Int64) {
            // Reuses known lookups, because making one parses every text.
            func lookup(_ member: CatalogSet.Member) -> OperationLookup {
                known.first { $0.version == member.version }
                    ?? OperationLookup(catalog: member.catalog, version: member.version)
            }
            self.set = set
            self.lookup = lookup(set.current)
            formers = set.formers.map(lookup)
            self.generation = generation
        }
    }

    private struct State {
        var snapshot: Snapshot
        /// The number of mutations begun under each generation. Bound: mutations in flight.
        var underWay: [Int64: Int] = [:]
    }

    private let state: Mutex<State>

    /// - Parameter generation: by default the greatest, for a node that follows no deployments.
    package init(_ set: CatalogSet, generation: Int64 = .max) {
        state = Mutex(State(snapshot: Snapshot(set: set, known: [], generation: generation)))
    }

    /// Creates the catalogs of a node that follows no deployments.
    package convenience init(_ catalog: Catalog) {
        self.init(CatalogSet(current: .init(version: Digest(of: Array(catalog.serviceID.utf8)), catalog: catalog)))
    }

    package var snapshot: Snapshot { state.withLock { $0.snapshot } }
    package var set: CatalogSet { snapshot.set }

    package func replace(_ set: CatalogSet, generation: Int64) {
        let last = snapshot
        // Parsing is slow, so it happens outside the lock that requests need.
        let snapshot = Snapshot(set: set, known: [last.lookup] + last.formers, generation: generation)
        state.withLock { $0.snapshot = snapshot }
    }

    /// Returns the snapshot whose rules publish the mutation that begins now. `ended` must follow.
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

    /// The oldest generation under which a mutation in flight began; the current one without any.
    package var generationReached: Int64 {
        state.withLock { min($0.snapshot.generation, $0.underWay.keys.min() ?? .max) }
    }
}
