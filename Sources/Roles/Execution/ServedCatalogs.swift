package import Catalog
import DeploymentPlan
package import LiveModel
import Synchronization

/// The catalogs of this node, replaced while it runs. Each piece of work takes one snapshot at its start and keeps it
/// to its end.
///
/// `LoadedDeployments` says when a deployment is reached. A node that cannot be reached (paused or partitioned) is
/// caught when it deletes an outbox row: the deletion is refused while a deployment exists that the publisher has not
/// loaded.
package final class ServedCatalogs: Sendable {
    package final class Snapshot: Sendable {
        package let set: CatalogSet
        /// Finds operations of the current catalog.
        package let lookup: OperationLookup
        /// Finds operations of former catalogs that are still served, newest first: clients may still send their texts.
        package let formers: [OperationLookup]
        /// The greatest deployment id up to which every deployment is loaded.
        package let loadedDeployment: Int64

        init(set: CatalogSet, known: [OperationLookup], loadedDeployment: Int64) {
            // Reuses known lookups, because making one parses every text.
            func lookup(_ member: CatalogSet.Member) -> OperationLookup {
                known.first { $0.version == member.version }
                    ?? OperationLookup(catalog: member.catalog, version: member.version)
            }
            self.set = set
            self.lookup = lookup(set.current)
            formers = set.formers.map(lookup)
            self.loadedDeployment = loadedDeployment
        }
    }

    private struct State {
        var snapshot: Snapshot
        var deployments: LoadedDeployments
    }

    private let state: Mutex<State>
    private let listener = Mutex<(@Sendable (CatalogSet) -> Void)?>(nil)

    /// - Parameter loadedDeployment: by default the greatest, for a node that follows no deployments.
    package init(_ set: CatalogSet, loadedDeployment: Int64 = .max) {
        state = Mutex(
            State(
                snapshot: Snapshot(set: set, known: [], loadedDeployment: loadedDeployment),
                deployments: LoadedDeployments(loadedDeployment)))
    }

    /// Creates the catalogs of a node that follows no deployments.
    package convenience init(_ catalog: Catalog) {
        self.init(CatalogSet(current: .init(version: Digest(of: Array(catalog.serviceID.utf8)), catalog: catalog)))
    }

    package var snapshot: Snapshot { state.withLock { $0.snapshot } }
    package var set: CatalogSet { snapshot.set }

    /// Calls `body` with the present versions, and with each further set of versions before it is served. There is one
    /// listener.
    package func onReplace(_ body: @escaping @Sendable (CatalogSet) -> Void) {
        listener.withLock { $0 = body }
        body(set)
    }

    package func replace(_ set: CatalogSet, loadedDeployment: Int64) {
        listener.withLock { $0 }?(set)
        let last = snapshot
        // Parsing is slow, so it happens outside the lock that requests need.
        let snapshot = Snapshot(set: set, known: [last.lookup] + last.formers, loadedDeployment: loadedDeployment)
        state.withLock { state in
            state.snapshot = snapshot
            state.deployments.replaced(loadedDeployment)
        }
    }

    /// Returns the snapshot whose rules publish the mutation that begins now. `ended` must follow.
    package func begin() -> Snapshot {
        state.withLock { state in
            _ = state.deployments.began()
            return state.snapshot
        }
    }

    package func ended(_ snapshot: Snapshot) {
        state.withLock { $0.deployments.ended(snapshot.loadedDeployment) }
    }

    /// The last deployment that applies to every mutation in progress.
    package var deploymentReached: Int64 { state.withLock { $0.deployments.reached } }
}
