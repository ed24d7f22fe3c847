import Admin
import APINode
import Broker
import ChangeTailer
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
import Recording
import RoleMachines
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

    /// Returns when the node can take clients. `NodePart` decides the order, also of the end.
    func start() async {
        for part in NodePart.startOrder(of: node.roles) { await start(part) }
        // Pushed together, in the order of the end: no start above can fail, so nothing is left open between.
        for part in NodePart.stopOrder(of: node.roles).reversed() {
            if let end = end(of: part) { parts.push(part.rawValue, end) }
        }
        observe()
    }

    private func start(_ part: NodePart) async {
        switch part {
        case .membership:
            tasks.add { [cluster, memberRoles] in await cluster.membership.run(memberRoles) }
            await cluster.membership.firstRoundEnded()
        case .deployments: await followDeployments()
        case .gateway:
            guard let gateway = roles.gateway else { return }
            gateway.forgetFormer()
            tasks.add { await gateway.run() }
        case .sessions: followFiles()
        case .worker:
            if let worker = roles.worker { tasks.add { await worker.run() } }
        case .tailer: if let tailer = roles.tailer { tasks.add { await tailer.run() } }
        case .sweeper:
            tasks.add { [sweeper = roles.sweeper] in await sweeper.run() }
            if let keySweeper = roles.keySweeper { tasks.add { await keySweeper.run() } }
            if let markers = roles.markers { tasks.add { await markers.run() } }
            if node.writesEventsToLog {
                let everyMs = node.settings.tailer.inspectMs
                tasks.add { [slot = roles.slot] in await slot.prepareForEvents(everyMs: everyMs) }
            }
        }
    }

    /// Returns nil for a part that ends with its tasks.
    private func end(of part: NodePart) -> ClosingStack.Close? {
        switch part {
        case .membership: return { [cluster] _ in await cluster.membership.leave() }
        case .gateway:
            guard let gateway = roles.gateway else { return nil }
            return { await gateway.leave(withinMs: $0.workMs) }
        case .sessions: return endSessions
        case .worker:
            guard let worker = roles.worker else { return nil }
            return { _ in await worker.drain() }
        case .deployments, .tailer, .sweeper: return nil
        }
    }

    private var endSessions: ClosingStack.Close {
        let (server, grpc, sessions) = (listeners.server, listeners.grpc, roles.sessions)
        return { grace in
            await server.stopAccepting()
            server.beginDraining()
            grpc.goAway()
            await sessions.drain(overMs: sessions.count > 0 ? grace.sessionsOverMs : 0)
        }
    }

    private var memberRoles: MemberRoles {
        let announcement = NodeAnnouncement(node, listeners.address, execution, roles)
        var member = MemberRoles { await announcement.record(isDraining: $0) }
        if let worker = roles.worker {
            member.updateWorker = {
                await worker.nodesChanged(workers: $0, gateways: $1, movedShards: $2, unfollowed: $3)
            }
        }
        if let gateway = roles.gateway { member.updateGateway = { gateway.overridesChanged($0) } }
        let (sessions, overMs) = (roles.sessions, Int64(node.settings.drain.sessionsMs))
        member.drainSessions = { [tasks] in tasks.add { await sessions.drain(overMs: overMs) } }
        return member
    }

    private func followDeployments() async {
        guard let deployments = execution.deployments else { return }
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

    /// Follows what decides about sessions: revocations, keys and certificates.
    private func followFiles() {
        let (access, sessions, revocations) = (access, roles.sessions, cluster.revocations)
        tasks.add { [probe = readiness.probe] in await probe.run() }
        tasks.add { await access.followRevocations(revocations, sessions) }
        tasks.add { await access.followAPIKeys(sessions) }
        if roles.gateway != nil {
            tasks.add { [list = cluster.invalidations] in await access.followInvalidations(list, sessions) }
        }
        if let certificate = listeners.certificate { tasks.add { await certificate.follow() } }
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
        tasks.add { [recorder = roles.recorder, clock = node.clock, meter = node.meter] in
            while !Task.isCancelled {
                recorder.expire(nowMs: clock.nowMs())
                meter.sampleLoad()
                try? await Task.sleep(for: .seconds(1))
            }
        }
        guard roles.worker != nil else { return }
        tasks.add { [inspector, node] in
            await NodeMetrics.sample(
                inspector, shardCount: node.settings.cluster.shardCount, node.metrics, node.logger)
        }
    }
}
