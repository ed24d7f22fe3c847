import Broker
import Catalog
import Cluster
import Deployments
import Execution
import FanoutWorker
import Gateway
import LiveModel
import Logging
import PublicAPI
import Settings
import Sharding
import Streams
import Synchronization

/// What the node does with every heartbeat: announces itself, reads the list of nodes and what operators ordered.
extension ServiceNode {
    func beat(_ parts: Running, publicPort: Int, adminPort: Int?) async {
        var isFirst = true
        var waitMs = settings.cluster.heartbeatMs
        while !Task.isCancelled {
            // The first announcement was made before anything ran.
            if !isFirst { waitMs = await announce(parts, publicPort: publicPort, adminPort: adminPort) }
            isFirst = false
            if await bell.wait(ms: waitMs) {
                // News seldom come alone.
                try? await Task.sleep(for: .milliseconds(Self.newsGatherMs))
            }
        }
    }

    private static let newsGatherMs = 3

    /// - Returns: when to do it next: with the next heartbeat, or when another node's entry ends unless it is renewed,
    ///   so that its shards are asked for in time.
    func announce(_ parts: Running, publicPort: Int, adminPort: Int?) async -> Int {
        await followOrders(parts)
        let draining = isDraining.load(ordering: .acquiring) || isDrainOrdered.load(ordering: .acquiring)
        let address = settings.cluster.advertiseAddress ?? "\(settings.http.host):\(publicPort)"
        let payload = NodeRecordPayload(
            id: id, roles: settings.cluster.roles.map(\.rawValue).sorted(), address: address,
            adminAddress: adminPort.map { Self.address(host: settings.admin.host, port: $0, besides: address) } ?? "",
            version: ClusterFormat.release,
            startedAtMs: startedAtMs, isDraining: draining, load: parts.sessions.count,
            shards: await parts.worker?.shardStatuses ?? [],
            project: parts.catalogs.set.current.version.hex,
            deployment: parts.deployments == nil ? 0 : parts.catalogs.generationReached,
            deploymentProblem: parts.deployments?.problem ?? "it serves its folder only")
        do {
            let isNew = try await parts.broker.announceNode(
                id.name, payload: payload.payload, ttlMs: settings.cluster.nodeTtlMs)
            // Workers that may have forgotten this node, or do not know it yet, need not wait for their heartbeat.
            if isNew, !draining { await parts.broker.tellNews(of: id.name) }
            // Others may be set to live longer, while that is being changed.
            let records = try await parts.broker.nodes(livingAtMost: 4 * settings.cluster.nodeTtlMs)
            let nodes = records.compactMap { NodeRecordPayload(payload: $0.payload) }
            let workers = nodes.filter { $0.roles.contains("worker") && !$0.isDraining }.map(\.id)
            let gateways = Set(nodes.filter { $0.roles.contains("gateway") }.map(\.id))
            let pins = parts.directory.orders.pins(nowMs: clock.nowMs())
            guard let worker = parts.worker else { return settings.cluster.heartbeatMs }
            await worker.nodesChanged(workers: workers, gateways: gateways, pins: pins)
            let endsMs = records.filter { $0.id != id.name }.map(\.remainingMs).min() ?? .max
            return min(settings.cluster.heartbeatMs, min(endsMs, settings.cluster.heartbeatMs) + 2)
        } catch {
            logger.warning("heartbeat failed", metadata: ["error": "\(error)"])
            return settings.cluster.heartbeatMs
        }
    }

    /// Where others reach a port: one that is open at every address is at the host of the one that is advertised.
    static func address(host: String, port: Int, besides advertised: String) -> String {
        guard ["0.0.0.0", "::"].contains(host) else {
            return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        }
        return "\(advertised.prefix(upTo: advertised.lastIndex(of: ":") ?? advertised.endIndex)):\(port)"
    }

    /// Reads what operators ordered and acts on it.
    private func followOrders(_ parts: Running) async {
        do {
            if try await parts.directory.refresh() {
                logger.info(
                    "orders changed", metadata: ["generation": "\(parts.directory.orders.generation)"])
            }
        } catch {
            logger.warning("orders not read", metadata: ["error": "\(error)"])
            return
        }
        // Whoever publishes may have read them before this heartbeat.
        let generation = parts.directory.orders.generation
        if placedGeneration.exchange(generation, ordering: .acquiringAndReleasing) != generation {
            parts.gateway?.placesChanged()
        }
        let isOrdered = parts.directory.orders.drained.contains(id)
        let wasOrdered = isDrainOrdered.exchange(isOrdered, ordering: .acquiringAndReleasing)
        guard isOrdered != wasOrdered else { return }
        logger.info(isOrdered ? "drained by order" : "drain order taken back")
        if isOrdered {
            Task { await parts.sessions.drain(overMs: Int64(settings.drain.sessionsMs)) }
        }
    }

    /// An order was made at this node: no need to wait for the next heartbeat.
    func ordersChanged() async {
        guard let (parts, port, adminPort) = running.withLock({ $0 }).map({ ($0, $0.publicPort, $0.adminPort) })
        else { return }
        _ = await announce(parts, publicPort: port, adminPort: adminPort)
    }
}
