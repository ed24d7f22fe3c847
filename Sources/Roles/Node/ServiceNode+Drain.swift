import APINode
import Broker
import Streams
import PublicAPI
import FanoutWorker
import GRPC
import Gateway
import HTTPServer
import LiveModel
import Logging
import NIOCore
import Postgres
import OutboundHTTP
import RemoteServices
import Settings
import Synchronization

/// How the node leaves.
extension ServiceNode {
    /// - Parameters:
    ///   - delayMs: how long load balancers get to notice that the node is not ready, while it serves as before. A node
    ///     without clients does not wait.
    ///   - sessionsOverMs: over how long the sessions are told to come back elsewhere.
    ///   - graceMs: how long work in flight may take after that.
    package func drain(delayMs: Int64 = 0, sessionsOverMs: Int64, graceMs: Int64) async {
        guard !isLeaving.exchange(true, ordering: .acquiringAndReleasing) else { return }
        if delayMs > 0, !settings.cluster.roles.isDisjoint(with: [.api, .gateway]) {
            logger.info("leaving", metadata: ["delayMs": "\(delayMs)"])
            try? await Task.sleep(for: .milliseconds(delayMs))
        }
        guard !isDraining.exchange(true, ordering: .acquiringAndReleasing) else { return }
        guard let parts = running.withLock({ $0 }) else { return }
        logger.info("draining", metadata: ["sessions": "\(parts.sessions.count)"])
        try? await parts.broker.withdrawNode(id.name)
        await parts.worker?.drain()
        await parts.server.stopAccepting()
        parts.server.beginDraining()
        parts.grpc.goAway()
        await parts.sessions.drain(overMs: parts.sessions.count > 0 ? sessionsOverMs : 0)
        await parts.gateway?.leave()
        await parts.server.shutdown(graceMs: graceMs)
        // After the last mutation could end.
        await parts.publisher.drain(withinMs: graceMs)
        await parts.admin?.shutdown(graceMs: 0)
        for task in parts.tasks { task.cancel() }
        try? await parts.broker.withdrawNode(id.name)
        await parts.broker.close()
        await parts.replicas?.stop()
        await parts.pool.stop()
        for task in parts.tasks { await task.value }
        parts.embeddings?.stop()
        await parts.sender.stop()
        try? await parts.group.shutdownGracefully()
        logger.info("stopped")
    }
}
