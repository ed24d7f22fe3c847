import Admin
import APINode
import Broker
import Cluster
import Deployments
import Execution
import FanoutWorker
import Gateway
import GRPC
import HTTPServer
import LiveModel
import Logging
import Observability
import Settings

/// The last part of a start: the node joins the cluster, and its roles begin to work.
struct NodeRun {
    let node: NodeContext
    let cluster: ClusterMember
    let access: NodeAccess
    let execution: NodeExecution
    let roles: NodeRoles
    let listeners: NodeListeners
    let readiness: NodeReadiness
    let broker: any Broker
    let inspector: NodeInspector
    let tasks: BackgroundTasks
    let parts: ClosingStack

    /// Returns when the node can take clients. A stop runs in the reverse order: the node leaves the node list, hands
    /// its shards over, ends its sessions and withdraws its interest.
    func start() async {
        // A gateway must be in the node list before it announces any interest: workers drop the interest of unlisted
        // gateways.
        tasks.add { [cluster, memberRoles] in await cluster.membership.run(memberRoles) }
        await cluster.membership.firstRoundEnded()
        await followDeployments()
        followFiles()
        startGateway()
        acceptSessions()
        startWorker()
        observe()
        parts.push("membership") { [cluster] _ in await cluster.membership.leave() }
    }

    private var memberRoles: MemberRoles {
        let announcement = NodeAnnouncement(node, listeners.address, execution, roles)
        var member = MemberRoles { await announcement.record(isDraining: $0) }
        if let worker = roles.worker {
            member.updateWorker = { await worker.nodesChanged(workers: $0, gateways: $1, pins: $2) }
        }
        if let gateway = roles.gateway { member.updateGateway = { gateway.overridesChanged($0) } }
        let (sessions, overMs) = (roles.sessions, Int64(node.settings.drain.sessionsMs))
        member.drainSessions = { [tasks] in tasks.add { await sessions.drain(overMs: overMs) } }
        return member
    }

    private func followDeployments() async {
        guard let deployments = execution.deployments else { return }
        // A rollout does not wait for a node that was not in the list when the version was announced.
        await deployments.poll()
        let (sessions, moveMs, logger) = (roles.sessions, Int64(node.settings.deploy.moveMs), node.logger)
        tasks.add {
            await deployments.run { staying in
                let count = await sessions.drain(except: staying, overMs: moveMs)
                if count > 0 {
                    logger.info("sessions of former versions asked to reconnect", metadata: ["sessions": "\(count)"])
                }
            }
        }
    }

    private func followFiles() {
        let (access, sessions, revocations) = (access, roles.sessions, cluster.revocations)
        tasks.add { [probe = readiness.probe] in await probe.run() }
        tasks.add { await access.followRevocations(revocations, sessions) }
        tasks.add { await access.followAPIKeys(sessions) }
        if let certificate = listeners.certificate { tasks.add { await certificate.follow() } }
    }

    private func startGateway() {
        guard let gateway = roles.gateway else { return }
        gateway.forgetFormer()
        tasks.add { await gateway.run() }
        parts.push("gateway") { await gateway.leave(withinMs: $0.workMs) }
    }

    /// Begins to accept sessions. On a stop, the sessions end before the gateway does.
    private func acceptSessions() {
        let (server, grpc, sessions) = (listeners.server, listeners.grpc, roles.sessions)
        parts.push("sessions") { grace in
            await server.stopAccepting()
            server.beginDraining()
            grpc.goAway()
            await sessions.drain(overMs: sessions.count > 0 ? grace.sessionsOverMs : 0)
        }
    }

    private func startWorker() {
        if let worker = roles.worker {
            tasks.add { await worker.run() }
            parts.push("worker") { _ in await worker.drain() }
        }
        if !node.settings.cluster.roles.isDisjoint(with: [.api, .worker]) {
            tasks.add { [sweeper = roles.sweeper] in await sweeper.run() }
        }
    }

    private func observe() {
        // The registry of metrics outlives the node, whose parts hold threads and descriptors.
        NodeMetrics.observe(
            node.metrics, roles: node.roles, sessions: { [weak sessions = roles.sessions] in sessions?.count ?? 0 },
            http: { [weak server = listeners.server] in server?.counters },
            redis: { [weak broker] in broker?.state },
            isReady: {
                [phase = readiness.phase, weak membership = readiness.membership, weak probe = readiness.probe] in
                guard let membership, let probe else { return false }
                return NodeReadiness(phase: phase, membership: membership, probe: probe).isReady
            })
        guard roles.worker != nil else { return }
        tasks.add { [inspector, node] in
            await NodeMetrics.sample(
                inspector, shardCount: node.settings.cluster.shardCount, node.metrics, node.logger)
        }
    }
}
