package import Catalog
package import DeploymentPlan
package import Deployments
import Cluster
import Execution
import JSON
import LiveModel
package import Operations
import Postgres
import RoleMachines
import SchemaModel

/// Reads the history of the project's versions, and compares them. An actor, so that one comparison is made at a time.
package actor DeploymentReports {
    struct Report: Sendable {
        var rows: [JSONObject] = []
        /// The possible rollback; null if there is nothing to go back to.
        var rollback = JSONValue.null
    }

    private struct Pair: Hashable {
        let old: Digest
        let new: Digest
    }

    /// The rows that are listed, and the newest of them, which are compared.
    private static let rowsMax = 50
    private static let comparedMax = 10
    /// The comparisons that are kept: those of the listed rows, and of a rollback.
    private static let keptMax = 2 * comparedMax

    private let store: DeploymentStore
    private let settings: DeploymentSchedule.Settings
    private let options: CatalogOptions
    /// Versions never change; nil: one of the two is no longer stored, or does not compile here.
    private var kept: [Pair: VersionChanges?] = [:]

    package init(store: DeploymentStore, settings: DeploymentSchedule.Settings, options: CatalogOptions) {
        self.store = store
        self.settings = settings
        self.options = options
    }

    /// Returns the history, the newest first, and the rollback that is possible.
    /// - Parameter nodes: the live nodes.
    /// - Throws: `.unavailable` if the database does not answer.
    func report(_ nodes: [NodeRecordPayload]) async throws(RequestError) -> Report {
        do {
            let history = try await store.history()
            let schedule = DeploymentSchedule(
                history.deployments, folder: nil, nowMs: history.nowMs, settings: settings)
            var rows: [JSONObject] = []
            for listing in RolloutListing.all(history.deployments, schedule, nodes: nodes).prefix(Self.rowsMax) {
                let deployment = listing.deployment
                let former = Self.former(of: deployment, in: history.deployments)
                var changes: VersionChanges?
                if let former, rows.count < Self.comparedMax {
                    changes = try await compared(Pair(old: former.version, new: deployment.version))
                }
                rows.append([
                    "deployment": .int(deployment.id), "version": .string(deployment.version.hex),
                    "origin": .string(deployment.origin.rawValue), "by": .string(deployment.createdBy),
                    "createdAtMs": .int(deployment.createdAtMs),
                    "activeAtMs": deployment.activeAtMs.map { .int($0) } ?? .null,
                    "standing": listing.standing.map { .string($0.rawValue) } ?? .null,
                    "former": former.map { .string($0.version.hex) } ?? .null, "changes": changes?.json ?? .null,
                ])
            }
            let rollback = try await rollback(schedule, history)
            return Report(rows: rows, rollback: rollback)
        } catch {
            throw RequestError(.unavailable, "the deployments cannot be read: \(error)")
        }
    }

    /// The version that was served before a row.
    private static func former(of deployment: Deployment, in history: [Deployment]) -> Deployment? {
        history.last {
            $0.id < deployment.id && $0.version != deployment.version
                && ($0.activeAtMs != nil || $0.origin == .folder)
        }
    }

    /// Returns the version that `freshet deploy --rollback` would go back to, and what clients would notice.
    private func rollback(_ schedule: DeploymentSchedule, _ history: DeploymentHistory) async throws -> JSONValue {
        guard let current = schedule.current,
            let former = DeploymentSchedule.former(of: current, in: history.deployments)
        else { return .null }
        return [
            "deployment": .int(former.id), "version": .string(former.version.hex),
            "command": "freshet deploy --rollback",
            "changes": try await compared(Pair(old: current, new: former.version))?.json ?? .null,
        ]
    }

    private func compared(_ pair: Pair) async throws(PostgresError) -> VersionChanges? {
        if let known = kept[pair] { return known }
        let (old, new) = (try await store.project(pair.old), try await store.project(pair.new))
        var changes: VersionChanges?
        if let old = old.flatMap({ try? ProjectArchive(parsing: $0) }),
            let new = new.flatMap({ try? ProjectArchive(parsing: $0) }),
            let before = try? Catalog.compile(old.project, options: options),
            let after = try? Catalog.compile(new.project, options: options)
        {
            changes = VersionChanges(from: before, to: after, project: new.project)
        }
        if kept.count >= Self.keptMax { kept = [:] }
        kept[pair] = .some(changes)
        return changes
    }
}

extension AdminServices {
    /// Returns the versions of the project: since when, who serves them, the sessions on each, and what each changed.
    func deployments() async throws -> JSONValue {
        let inspector = inspector
        let gathered = try await peers.gather("/admin/v1/status", query: [], only: nil, roles: []) {
            await inspector.status()
        }
        let live = try await inspector.parts.cluster.membership.liveNodes().nodes
        let served = ServedVersions(gathered.parts)
        let report = try await inspector.parts.deployments?.report(live) ?? DeploymentReports.Report()
        return [
            "node": .string(inspector.nodeID.name),
            "deployments": .array(served.added(to: report.rows).map { .object($0) }),
            "rollback": report.rollback,
            "problems": .array(
                live.filter { !$0.deploymentProblem.isEmpty }.map {
                    ["node": .string($0.id.name), "problem": .string($0.deploymentProblem)]
                }),
            "unreachable": WhyService.rows(gathered.unreachable),
        ]
    }
}

/// The versions that nodes serve, by what their statuses say. Pure.
struct ServedVersions {
    private struct Served {
        var nodes: [String] = []
        var isCurrent = false
        var sessions: Int64 = 0
    }

    private var versions: [String: Served] = [:]

    /// - Parameter parts: the nodes' statuses.
    init(_ parts: [ReportPart]) {
        for part in parts.sorted(by: { $0.node < $1.node }) {
            for project in part.json["projects"]?.arrayValue ?? [] {
                guard let version = project["version"]?.stringValue else { continue }
                versions[version, default: Served()].nodes.append(part.node.name)
                versions[version]?.sessions += project["sessions"]?.intValue ?? 0
                if project["current"] == true { versions[version]?.isCurrent = true }
            }
        }
    }

    /// Adds nodes and sessions to the newest row of each version, and rows of versions without one.
    /// - Parameter rows: the history, the newest first.
    func added(to rows: [JSONObject]) -> [JSONObject] {
        var left = versions
        var all = rows
        for index in all.indices {
            let served = all[index]["version"]?.stringValue.flatMap { left.removeValue(forKey: $0) }
            add(served, to: &all[index])
        }
        for (version, served) in left.sorted(by: { $0.key < $1.key }) {
            var row: JSONObject = ["deployment": .null, "version": .string(version)]
            add(served, to: &row)
            all.append(row)
        }
        return all
    }

    private func add(_ served: Served?, to row: inout JSONObject) {
        row["nodes"] = .array((served?.nodes ?? []).map(JSONValue.string))
        row["isCurrent"] = .bool(served?.isCurrent ?? false)
        row["sessions"] = served.map { .int($0.sessions) } ?? .null
    }
}
