import APINode
import Catalog
import DeploymentPlan
import Deployments
import Embeddings
import FanoutWorker
import RoleMachines
import GRPC
import HTTPServer
import Operations
import OutboundHTTP
import RemoteServices
import PublicAPI
import Refresh
import Sessions
import LiveModel
import Settings
import Sharding
import Streams

/// The configuration of each part, derived from the node's settings.
extension NodeContext {
    var publisherSettings: PublisherMachine.Settings {
        var publisher = PublisherMachine.Settings()
        publisher.deleteBatchMax = settings.outbox.batchMax
        publisher.deleteBatchMs = Int64(settings.outbox.deleteBatchMs)
        return publisher
    }

    var sweeperSettings: SweeperMachine.Settings {
        var sweeper = SweeperMachine.Settings()
        sweeper.sweepMs = Int64(settings.outbox.sweepMs)
        sweeper.sweepAgeMs = Int64(settings.outbox.sweepAgeMs)
        sweeper.batchMax = settings.outbox.batchMax
        sweeper.rowsMax = settings.outbox.rowsMax
        sweeper.foldMax = min(sweeper.foldMax, max(1, settings.outbox.rowsMax / 4))
        sweeper.alarmRows = settings.outbox.alarmRows
        sweeper.alarmAgeMs = Int64(settings.outbox.alarmAgeMs)
        return sweeper
    }

    /// The numbers of entries that streams in Redis keep at least.
    var streamLengths: (events: Int, control: Int) {
        (events: settings.redis.eventsLengthMax, control: settings.redis.controlLengthMax)
    }

    var deltaCache: DeltaCache {
        DeltaCache(bytesMax: settings.gateway.deltaBytesMax, resultBytesMax: settings.gateway.deltaResultBytesMax)
    }

    var variableLimits: VariableLimits {
        VariableLimits(depthMax: settings.limits.variablesDepthMax, bytesMax: settings.limits.variablesBytesMax)
    }

    /// How many revocations the node keeps, and how often it reads them.
    var revocationSettings: (countMax: Int, pollMs: Int) {
        (countMax: settings.auth.revocationsMax, pollMs: settings.auth.revocationsPollMs)
    }

    /// The address of the public port at which other machines reach the node.
    func advertisedAddress(port: Int) -> String {
        settings.cluster.advertiseAddress ?? "\(settings.http.host):\(port)"
    }

    /// - Throws: `.misconfigured` for a namespace that keys cannot have.
    func keys() throws(BrokerError) -> Keys { try Keys(namespace: settings.cluster.namespace) }

    var resolverSettings: HTTPResolvers.Settings {
        HTTPResolvers.Settings(
            inFlightMax: settings.resolvers.inFlightMax, answerBytesMax: settings.resolvers.answerBytesMax)
    }

    /// Nil without `embeddings.url`.
    var embeddingEndpoint: EmbeddingEndpoint? {
        let embeddings = settings.embeddings
        return embeddings.url.map { url in
            EmbeddingEndpoint(
                url: url, format: embeddings.format == .openai ? .openai : .vertex, token: embeddings.token,
                models: embeddings.serverModels ?? [:])
        }
    }

    /// The limit of connections to each custom resolver and to the embedding server.
    var connectionsPerHostMax: Int { max(32, settings.embeddings.inFlightMax) }

    var embeddingSettings: EmbeddingSettings {
        var embeddings = EmbeddingSettings()
        embeddings.inFlightMax = settings.embeddings.inFlightMax
        embeddings.waitersMax = settings.embeddings.waitersMax
        embeddings.waitingTextsMax = settings.embeddings.waitingTextsMax
        embeddings.waitingBytesMax = settings.embeddings.waitingBytesMax
        embeddings.timeoutMs = Int64(settings.embeddings.timeoutMs)
        embeddings.answerBytesMax = settings.embeddings.answerBytesMax
        embeddings.textsPerRequestMax = settings.embeddings.textsPerRequestMax
        embeddings.textBytesMax = settings.embeddings.textBytesMax
        embeddings.cacheEntriesMax = settings.embeddings.cacheEntriesMax
        embeddings.cacheBytesMax = settings.embeddings.cacheBytesMax
        return embeddings
    }

    var gatewaySettings: GatewayMachine.Settings {
        var gateway = GatewayMachine.Settings()
        gateway.interest.announceRetryMs = Int64(settings.gateway.announceRetryMs)
        gateway.interest.lingerMs = Int64(settings.gateway.lingerMs)
        gateway.interest.summaryMs = Int64(settings.gateway.summaryMs)
        gateway.interest.liveQueriesMax = settings.gateway.liveQueriesMax
        gateway.interest.answerMaxMs = Int64(settings.cluster.unreadyAfterMs)
        gateway.interest.shardCount = settings.cluster.shardCount
        gateway.interest.markerEveryMs = Int64(settings.lag.markerEveryMs)
        gateway.interest.markerLateMs = Int64(settings.lag.lateMs)
        gateway.interest.waitsMax = settings.gateway.waitsMax
        gateway.interest.waitTimeoutMs = Int64(settings.gateway.waitTimeoutMs)
        return gateway
    }

    var workerSettings: FanoutWorker.Settings {
        var worker = FanoutWorker.Settings()
        worker.refresh.coalesceGapMs = Int64(settings.worker.coalesceGapMs)
        worker.refresh.runsMax = settings.worker.runsMax
        worker.refresh.remoteRunsMax = settings.worker.remoteRunsMax
        let slow = settings.postgres.slowConnections
        worker.refresh.slowRunMs = slow > 0 ? Int64(settings.postgres.slowAfterMs) : nil
        worker.refresh.apartRunsMax = max(1, slow / 2)
        worker.refresh.slowRunsMax = max(1, slow - slow / 2)
        worker.refresh.batchMax = settings.worker.batchMax
        worker.refresh.liveQueriesMax = settings.worker.liveQueriesMax
        worker.refresh.pacedRunsPerSecond = settings.worker.pacedRunsPerSecond
        worker.refresh.pacedStatementsMax = settings.worker.pacedStatementsMax
        worker.refresh.rowsReadMax = settings.worker.rowsReadMax
        worker.refresh.verifyPerSecond = settings.worker.verifyPerSecond
        worker.refresh.historyMax = settings.worker.historyMax
        worker.refresh.historyBytesMax = settings.worker.historyBytesMax
        worker.refresh.replayMax = settings.worker.replayMax
        worker.lease.ttlMs = Int64(settings.cluster.leaseTtlMs)
        worker.lease.renewMs = Int64(settings.cluster.leaseRenewMs)
        worker.lease.holdOffMs = settings.cluster.awaitFormerOwners ? worker.lease.ttlMs : 0
        worker.lease.marginMs = min(worker.lease.marginMs, worker.lease.ttlMs / 4)
        worker.checkpointMs = Int64(settings.worker.checkpointMs)
        worker.eventsAgeMaxMs = Int64(settings.redis.eventsAgeMaxMs)
        worker.inboxLengthMax = settings.redis.inboxLengthMax
        worker.resultBytesMax = settings.gateway.resultBytesMax
        worker.definitionsMs = Int64(settings.worker.definitionsMs)
        worker.unfollowedAfterMs = Int64(settings.worker.unfollowedAfterMs)
        return worker
    }

    var deploymentSettings: DeploymentWatch.Settings {
        var watch = DeploymentWatch.Settings(pollMs: settings.deploy.pollMs)
        watch.follower.schedule.keepMs = Int64(settings.deploy.keepMs)
        watch.follower.schedule.moveMs = Int64(settings.deploy.moveMs)
        watch.follower.othersMax = settings.deploy.versionsMax
        watch.options = CatalogOptions(
            everyMinimumMs: settings.worker.everyMinimumMs, omitsInvalidOperations: isDevelopment)
        return watch
    }

    var publicAPISettings: PublicAPISettings {
        var api = PublicAPISettings(
            longPollMaxMs: Int64(settings.gateway.longPollMaxMs),
            longPollKeptMs: Int64(settings.gateway.longPollKeptMs), sessionsMax: settings.gateway.sessionsMax,
            verifiedForMs: Int64(settings.auth.repeatedVerificationMs))
        api.isAPI = settings.cluster.roles.contains(.api)
        api.isGateway = settings.cluster.roles.contains(.gateway)
        api.corsOrigins = settings.http.corsOrigins
        api.session.operationsMax = settings.gateway.subscriptionsPerSessionMax
        api.session.executesMax = settings.gateway.executesPerSessionMax
        api.session.executesWaitingMax = settings.gateway.executesWaitingMax
        api.session.waitsMax = settings.gateway.waitsPerSessionMax
        api.session.bytesMax = settings.gateway.sessionBytesMax
        api.session.initTimeoutMs = Int64(settings.gateway.initTimeoutMs)
        api.session.keepAliveMs = Int64(settings.gateway.keepAliveMs)
        api.session.rerunTimeoutMs = Int64(settings.gateway.rerunTimeoutMs)
        api.session.tokenGraceMs = Int64(settings.gateway.tokenGraceMs)
        api.session.idleTimeoutMs = Int64(settings.gateway.idleTimeoutMs)
        api.addresses = clientAddresses
        if isDevelopment {
            api.emulator = EmulatorInfo(
                version: ClusterFormat.release, connectionString: settings.postgres.url ?? "")
        }
        return api
    }

    var membershipSettings: MembershipMachine.Settings {
        var membership = MembershipMachine.Settings()
        membership.heartbeatMs = Int64(settings.cluster.heartbeatMs)
        membership.nodeTtlMs = Int64(settings.cluster.nodeTtlMs)
        membership.isWorker = settings.cluster.roles.contains(.worker)
        return membership
    }

    var quotaLimits: QuotaLimits {
        var limits = QuotaLimits()
        limits.sessions = .init(
            perUser: settings.gateway.sessionsPerUserMax, perAddress: settings.gateway.sessionsPerAddressMax)
        limits.subscriptions = .init(
            perUser: settings.gateway.subscriptionsPerUserMax, perAddress: settings.gateway.subscriptionsPerAddressMax)
        limits.messagesPerAddress = .init(
            perSecond: settings.gateway.messagesPerAddressPerSecond, burst: settings.gateway.messagesPerAddressBurst)
        limits.startsPerAddress = .init(
            perSecond: settings.gateway.acceptPerAddressPerSecond, burst: settings.gateway.acceptPerAddressBurst)
        limits.liveQueriesPerAddress = settings.gateway.liveQueriesPerAddressMax
        limits.liveQueryStartsPerAddress = .init(
            perSecond: settings.gateway.liveQueriesPerAddressPerSecond,
            burst: settings.gateway.liveQueriesPerAddressBurst)
        limits.lingeringPerAddress = settings.gateway.lingeringPerAddressMax
        limits.lingerMs = Int64(settings.gateway.lingerMs)
        limits.requests = .init(
            perUser: settings.api.requestsPerUserMax, perAddress: settings.api.requestsPerAddressMax)
        limits.uncounted = clientAddresses.uncounted
        return limits
    }

    /// The rates of addresses.
    var addressRates: AddressRates {
        let limits = quotaLimits
        return AddressRates(
            perSecond: limits.messagesPerAddress.perSecond, burst: limits.messagesPerAddress.burst,
            isCounted: { !limits.uncounted.contains($0) }, subjects: addressSubjects)
    }

    /// The subjects of limits per address.
    var addressSubjects: AddressSubjects {
        let addresses = clientAddresses
        return AddressSubjects(
            peer: { addresses.countedPeer($0) }, client: { addresses.countedClient(peer: $0, forwarded: $1) })
    }

    private var clientAddresses: ClientAddresses {
        var addresses = ClientAddresses()
        addresses.proxies = AddressSet(settings.http.trustedProxies) ?? AddressSet()
        addresses.uncounted = AddressSet(settings.http.uncountedAddresses) ?? AddressSet()
        addresses.ipv6PrefixBits = settings.http.ipv6PrefixBits
        return addresses
    }

    var sessionAdmission: SessionAdmission {
        SessionAdmission(perSecond: settings.gateway.acceptPerSecond, burst: settings.gateway.acceptBurst)
    }

    var grpcConfiguration: GRPCConfiguration {
        var grpc = GRPCConfiguration()
        grpc.callsMax = settings.http.grpcCallsMax
        grpc.messagesPerSecond = settings.gateway.messagesPerSecond
        grpc.messagesBurst = settings.gateway.messagesBurst
        grpc.controlFramesPerSecond = settings.http.grpcControlFramesPerSecond
        grpc.idleTimeoutMs = Int64(settings.http.grpcIdleTimeoutMs)
        grpc.messageBytesMax = settings.http.bodyBytesMax
        grpc.headerBytesMax = settings.http.headerBytesMax
        grpc.writeStallTimeoutMs = Int64(settings.http.writeStallTimeoutMs)
        grpc.pingIntervalMs = Int64(settings.gateway.pingIntervalMs)
        grpc.pingTimeoutMs = Int64(settings.gateway.pongTimeoutMs)
        return grpc
    }

    var httpConfiguration: HTTPServerConfiguration {
        var http = HTTPServerConfiguration()
        http.host = settings.http.host
        http.port = settings.http.port
        http.connectionsMax = settings.http.connectionsMax
        http.connectionsPerAddressMax = settings.http.connectionsPerAddressMax
        http.headerBytesMax = settings.http.headerBytesMax
        http.pipelinedMax = settings.http.pipelinedMax
        http.repeatedRequestsMax = settings.http.repeatedRequestsMax
        http.bodyBytesMax = settings.http.bodyBytesMax
        http.bodiesBytesMax = settings.http.bodiesBytesMax
        http.headerTimeoutMs = Int64(settings.http.headerTimeoutMs)
        http.idleTimeoutMs = Int64(settings.http.idleTimeoutMs)
        http.writeStallTimeoutMs = Int64(settings.http.writeStallTimeoutMs)
        http.pendingBytesMax = max(
            http.pendingBytesMax, settings.gateway.resultBytesMax + settings.gateway.sessionBytesMax)
        http.compression = compressionConfiguration
        http.webSocketFrameBytesMax = settings.gateway.webSocketFrameBytesMax
        http.webSocketFramesPerSecond = settings.gateway.messagesPerSecond
        http.webSocketFramesBurst = settings.gateway.messagesBurst
        http.webSocketPingIntervalMs = Int64(settings.gateway.pingIntervalMs)
        http.webSocketPongTimeoutMs = Int64(settings.gateway.pongTimeoutMs)
        return http
    }

    /// Nil: nothing is compressed.
    private var compressionConfiguration: CompressionConfiguration? {
        guard settings.http.compressionOn else { return nil }
        var compression = CompressionConfiguration()
        compression.level = settings.http.compressionLevel
        compression.bodyBytesMin = settings.http.compressionBodyBytesMin
        compression.bodyBytesMax = settings.http.compressionBodyBytesMax
        compression.bytesPerSecond = settings.http.compressionBytesPerSecond
        return compression
    }
}
