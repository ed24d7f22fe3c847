import Streams
import LiveModel
import Logging

/// Routes to the one server that has every key: the only one, or the current master.
final class SingleRoutes: CommandRoutes {
    private let configuration: RedisConfiguration
    private let resolver: any RedisEndpointResolver
    private let pipeline: CommandPipeline
    private let name: String
    private let logger: Logger
    private let onClose: @Sendable () async -> Void

    init(
        _ configuration: RedisConfiguration, resolver: any RedisEndpointResolver, name: String, logger: Logger,
        onClose: @escaping @Sendable () async -> Void = {}
    ) throws(BrokerError) {
        self.configuration = configuration
        self.resolver = resolver
        self.name = name
        self.logger = logger
        self.onClose = onClose
        pipeline = try CommandPipeline(configuration, resolver: resolver, name: name, logger: logger)
    }

    func call(_ commands: CommandBuffer, key: String, isRepeatable: Bool) async throws(BrokerError) -> [RedisValue] {
        try await pipeline.call(commands, isRepeatable: isRepeatable)
    }

    func append(_ appends: [StreamAppend]) async throws(BrokerError) -> [StreamID] {
        try SingleRoutes.ids(of: appends, try await pipeline.call(CommandBuffer(appends), isRepeatable: false))
    }

    func append(_ appends: [StreamAppend], completion: @escaping AppendCompletion) {
        pipeline.call(CommandBuffer(appends), isRepeatable: false) { answer in
            completion(
                answer.flatMap { values in Result { () throws(BrokerError) in try Self.ids(of: appends, values) } })
        }
    }

    private static func ids(of appends: [StreamAppend], _ values: [RedisValue]) throws(BrokerError) -> [StreamID] {
        var ids: [StreamID] = []
        ids.reserveCapacity(appends.count)
        var index = 0
        for append in appends {
            ids.append(try appendedID(values[index]))
            index += append.expireMs == nil ? 1 : 2
        }
        return ids
    }

    func makeReader(name: String) throws(BrokerError) -> any OwnedReader {
        try RedisStreamReader(
            configuration, resolver: resolver, name: "\(self.name):\(name)", helper: PipelineHelper(pipeline: pipeline),
            logger: logger)
    }

    var state: BrokerState {
        var state = pipeline.state
        state.servers = [
            BrokerServer(
                address: resolver.description, connected: state.connected, id: state.serverID,
                lastConnectError: state.lastConnectError)
        ]
        return state
    }

    func close() async {
        await pipeline.close()
        await onClose()
    }
}

/// The helper of readers of one server: its command pipeline.
struct PipelineHelper: ReaderHelper {
    let pipeline: CommandPipeline

    func unblock(_ connection: RedisConnection) {
        pipeline.send(CommandBuffer("CLIENT", "UNBLOCK", String(connection.clientID)))
    }

    func countReconnect() { pipeline.countReconnect() }
}
