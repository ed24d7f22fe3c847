import LiveModel
import Logging

/// One server has every key, whichever it is just now.
final class SingleRoutes: CommandRoutes {
    private let configuration: RedisConfiguration
    private let place: any RedisPlace
    private let pipeline: CommandPipeline
    private let name: String
    private let logger: Logger
    private let onClose: @Sendable () async -> Void

    init(
        _ configuration: RedisConfiguration, place: any RedisPlace, name: String, logger: Logger,
        onClose: @escaping @Sendable () async -> Void = {}
    ) throws(BrokerError) {
        self.configuration = configuration
        self.place = place
        self.name = name
        self.logger = logger
        self.onClose = onClose
        pipeline = try CommandPipeline(configuration, place: place, name: name, logger: logger)
    }

    func call(_ commands: CommandBuffer, key: String, isRepeatable: Bool) async throws(BrokerError) -> [RedisValue] {
        try await pipeline.call(commands, isRepeatable: isRepeatable)
    }

    func append(_ appends: [StreamAppend]) async throws(BrokerError) -> [StreamID] {
        var commands = CommandBuffer()
        for append in appends { commands.append(append) }
        let values = try await pipeline.call(commands, isRepeatable: false)
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
            configuration, place: place, name: "\(self.name):\(name)", helper: PipelineHelper(pipeline: pipeline),
            logger: logger)
    }

    var state: BrokerState {
        var state = pipeline.state
        state.servers = [
            BrokerServer(
                address: place.description, connected: state.connected, id: state.serverID,
                lastConnectError: state.lastConnectError)
        ]
        return state
    }

    func close() async {
        await pipeline.close()
        await onClose()
    }
}

/// Readers of one server share its pipeline.
struct PipelineHelper: ReaderHelper {
    let pipeline: CommandPipeline

    func unblock(_ connection: RedisConnection) {
        pipeline.send(CommandBuffer("CLIENT", "UNBLOCK", String(connection.clientID)))
    }

    func countReconnect() { pipeline.countReconnect() }
}
