package import LiveModel

/// One version of the project in the cluster's history.
package struct Deployment: Sendable, Hashable {
    package enum Origin: String, Sendable, Hashable {
        /// Created by `freshet deploy`.
        case deploy
        /// The project folder of a node that was started before the first deployment.
        case folder
    }

    /// Increases with every deployment.
    package var id: Int64
    /// The project's digest (`ProjectArchive.version`).
    package var version: Digest
    package var origin: Origin
    package var createdBy: String
    // In milliseconds since 1970, by the database's clock.
    package var createdAtMs: Int64
    /// Nil while the version is only announced: nodes load it, but no request gets it.
    package var activeAtMs: Int64?
    /// When a node last reported that it was started with this folder.
    package var seenAtMs: Int64

    package init(
        id: Int64, version: Digest, origin: Origin, createdBy: String = "", createdAtMs: Int64, activeAtMs: Int64?,
        seenAtMs: Int64
    ) {
        self.id = id
        self.version = version
        self.origin = origin
        self.createdBy = createdBy
        self.createdAtMs = createdAtMs
        self.activeAtMs = activeAtMs
        self.seenAtMs = seenAtMs
    }
}

/// The versions that a node serves, as a function of the history and the time.
///
/// | version | meaning |
/// | --- | --- |
/// | announced | loaded; events are published for it; no request gets it yet |
/// | current | the last one activated: new requests and sessions get it. Before the first: the node's own folder |
/// | former | served for `keepMs` after another became current, for the sessions that began with it |
/// | moving | its sessions are asked to reconnect, over `moveMs` |
/// | gone | not served: moving is over, and a pause for stragglers |
package struct DeploymentSchedule: Sendable, Hashable {
    package struct Settings: Sendable, Hashable {
        package var keepMs: Int64 = 600_000
        package var moveMs: Int64 = 30_000
        /// Time from the end of moving to the end of serving, because live queries linger at gateways.
        package var stragglerMs: Int64 = 60_000

        package init() {}
    }

    /// An announcement that is not activated within this time is void; `freshet deploy` gives up earlier.
    package static let announcedMaxMs: Int64 = 900_000

    /// Nil if nothing was activated and the node has no folder.
    package let current: Digest?
    /// The other served versions, without duplicates, newest first.
    package let others: [Digest]
    /// The members of `others` that were never current.
    package let announced: Set<Digest>
    /// The members of `others` whose sessions are asked to reconnect.
    package let moving: Set<Digest>
    /// The greatest id in the history.
    package let newestID: Int64

    package init(_ deployments: [Deployment], folder: Digest?, nowMs: Int64, settings: Settings) {
        // Deployments are announced and activated one at a time, so ids are in the order of activation. Times are not:
        // the clock of a new primary may be behind.
        let active = deployments.filter { $0.origin == .deploy && $0.activeAtMs != nil }.sorted { $0.id < $1.id }
        let current = active.last?.version ?? folder
        /// When moving begins; for several rows of one version, the latest time.
        var movesAtMs: [Digest: Int64] = [:]
        func serve(_ version: Digest, until: Int64) { movesAtMs[version] = max(movesAtMs[version] ?? 0, until) }
        for (index, deployment) in active.enumerated() where index + 1 < active.count {
            serve(deployment.version, until: (active[index + 1].activeAtMs ?? 0) + settings.keepMs)
        }
        for deployment in deployments.reversed() where deployment.origin == .folder {
            // Nodes that were started with different folders share the work while they live.
            serve(deployment.version, until: (active.first?.activeAtMs ?? deployment.seenAtMs) + settings.keepMs)
        }
        for deployment in deployments where deployment.origin == .deploy && deployment.activeAtMs == nil {
            guard nowMs < deployment.createdAtMs + Self.announcedMaxMs else { continue }
            serve(deployment.version, until: .max)
        }
        if let current { movesAtMs[current] = nil }
        let goneMs = 2 * settings.moveMs + settings.stragglerMs
        let served = movesAtMs.filter { $0.value == .max || nowMs < $0.value + goneMs }
        let lastID = Dictionary(deployments.map { ($0.version, $0.id) }, uniquingKeysWith: max)
        self.current = current
        self.others = served.keys.sorted { (lastID[$0] ?? 0) > (lastID[$1] ?? 0) }
        let known = Set(deployments.filter { $0.origin == .folder || $0.activeAtMs != nil }.map(\.version))
        self.announced = Set(served.keys).subtracting(known)
        self.moving = Set(served.filter { $0.value <= nowMs }.keys)
        self.newestID = deployments.map(\.id).max() ?? 0
    }
    /// Returns the last version that was served before the row that made `current` current; nil if there was none.
    package static func former(of current: Digest?, in deployments: [Deployment]) -> Deployment? {
        guard let current else { return nil }
        let since = deployments.last { $0.version == current && $0.activeAtMs != nil }?.id ?? 0
        return deployments.last {
            $0.id < since && $0.version != current && ($0.activeAtMs != nil || $0.origin == .folder)
        }
    }
}
