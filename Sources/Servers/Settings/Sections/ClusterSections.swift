import DeploymentPlan
package import LiveModel
import RoleMachines
import Sessions
import Sharding
import Streams

package struct ClusterSection: SettingSection {
    package static let doc =
        "Identity of this node and discovery of the others; the same on all nodes except nodeId and roles."
    package static let declared = ClusterSection()

    package let namespace = Setting.string(
        "cluster.namespace", "fr", "Prefix of every Redis key: \(Keys.namespaceRule).")
    package let nodeId = Setting.optional(
        "cluster.nodeId", "Name of this node, unique in the cluster; empty: generated at each start.")
    package let shardCount = Setting.int(
        "cluster.shardCount", Parts.interest.shardCount, in: 1...4096,
        "Shards of the namespace; fixed by the first node that starts.")
    package let roles: Setting<Set<Role>> = .choices("cluster.roles", "Roles of this node.")
    package let advertiseAddress = Setting.optional(
        "cluster.advertiseAddress", "host:port at which others reach this node; empty: http.host and port.")
    package let heartbeatMs = Setting.duration(
        "cluster.heartbeatMs", Parts.membership.heartbeatMs, in: 50...minute,
        "Interval at which a node renews its entry.")
    package let nodeTtlMs = Setting.duration(
        "cluster.nodeTtlMs", Parts.membership.nodeTtlMs, in: 200...10 * minute,
        "Age at which a node that stays silent is considered gone.")
    package let leaseTtlMs = Setting.duration(
        "cluster.leaseTtlMs", Parts.lease.ttlMs, in: 200...Int(StoredNumber.leaseMaxMs),
        "Time after which a shard's lease expires unless renewed.")
    package let leaseRenewMs = Setting.duration(
        "cluster.leaseRenewMs", Parts.lease.renewMs, in: 50...minute, "Interval at which a worker renews its leases.")
    package let awaitFormerOwners = Setting.bool(
        "cluster.awaitFormerOwners", true, dev: false,
        "Wait one lease before taking a shard whose owner Redis has lost; false if there is one worker only.")
    package let startWaitMs = Setting.duration(
        "cluster.startWaitMs", 0, in: 0...24 * 60 * minute,
        "How long a starting node waits for Postgres and Redis; 0: without limit.")
    package let unreadyAfterMs = Setting.duration(
        "cluster.unreadyAfterMs", Parts.interest.answerMaxMs, in: 0...24 * 60 * minute,
        "How long a server may fail the node before it is not ready, and subscribers wait for an answer; 0: no limit.")
}

package struct DrainSection: SettingSection {
    package static let doc =
        "Shutdown on SIGTERM. Whatever stops the node must allow the sum of the three, plus some seconds."
    package static let declared = DrainSection()

    package let delayMs = Setting.duration(
        "drain.delayMs", 0, in: 0...10 * minute,
        "Time in which the node is not ready but still serves; longer than load balancers take to notice.")
    package let sessionsMs = Setting.duration(
        "drain.sessionsMs", 1000, in: 0...10 * minute, "Time over which sessions are asked to reconnect elsewhere.")
    package let graceMs = Setting.duration(
        "drain.graceMs", 10_000, in: 0...10 * minute, "Time that work in flight may then take.")
}

package struct DeploySection: SettingSection {
    package static let doc = "How one version of the project replaces another; the same on all nodes."
    package static let declared = DeploySection()

    package let pollMs = Setting.duration(
        "deploy.pollMs", 2000, in: 50...10 * minute, "Interval at which a node looks for new deployments.")
    package let keepMs = Setting.duration(
        "deploy.keepMs", Parts.rollout.schedule.keepMs, in: 0...168 * hour,
        "How long a former version is served to the sessions that started with it.")
    package let moveMs = Setting.duration(
        "deploy.moveMs", Parts.rollout.schedule.moveMs, in: 0...hour,
        "Time over which those sessions are then asked to reconnect.")
    package let lockTimeoutMs = Setting.duration(
        "deploy.lockTimeoutMs", 5000, in: 0...10 * minute,
        "How long `freshet deploy` waits for a table's lock; later statements wait behind it. 0: no limit.")
    package let versionsMax = Setting.int(
        "deploy.versionsMax", Parts.rollout.versionsMax, in: 1...64,
        "Versions that a node serves besides the current one.")
    package let historyMax = Setting.int("deploy.historyMax", 20, in: 1...400, "Deployments kept in the database.")
}

package struct MigrateSection: SettingSection {
    package static let doc = "How `freshet migrate --concurrently` yields to writers."
    package static let declared = MigrateSection()

    package let lockTimeoutMs = Setting.duration(
        "migrate.lockTimeoutMs", 500, in: 10...minute,
        "How long one attempt waits for a table's lock; later statements wait behind it.")
    package let lockPauseMs = Setting.duration(
        "migrate.lockPauseMs", 1000, in: 10...minute, "Pause between two attempts, in which other statements proceed.")
    package let lockTotalMs = Setting.duration(
        "migrate.lockTotalMs", 10 * minute, in: 0...24 * hour, "Time after which a step gives up.")
    package let waitMs = Setting.duration(
        "migrate.waitMs", 10 * minute, in: 0...24 * hour,
        "How long `freshet migrate` and `freshet deploy` wait for another migration to end.")
}
