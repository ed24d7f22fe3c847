import Streams

/// Reads streams of a Redis Cluster's slot while the slot is being moved to another node.
///
/// Each key is on one of the two nodes, and the source redirects to the target (`ASK`, valid for one command after
/// `ASKING`: https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#ask-redirection). A read of
/// several streams is refused while they are on different nodes, and a blocking one would not notice that its stream
/// moves. So each stream is read separately, where it is, without blocking.
struct MovingSlot {
    private let resolver: any RedisEndpointResolver
    private let name: String
    private var source: RedisConnection?
    private var target: RedisConnection?

    init(_ resolver: any RedisEndpointResolver, name: String) {
        self.resolver = resolver
        self.name = name
    }

    /// - Parameter read: one command that reads one stream.
    /// - Returns: at most one batch, or why the stream could not be read, for instance because the move is over.
    mutating func answer(
        _ read: CommandBuffer
    ) throws(RedisConnection.Failure) -> Result<[StreamBatch], StreamReplyError> {
        let source = try connectedSource()
        try source.write(read.bytes)
        let answer = try source.reply(StreamBatch.decodeAll)
        guard case .failure(.refused(let refusal)) = answer else { return answer }
        guard case .ask(let endpoint) = Redirection(refusal, asked: source.endpoint) else {
            resolver.refused(refusal, by: source.endpoint)
            return answer
        }
        let target = try connectedTarget(endpoint)
        try target.write(CommandBuffer("ASKING").followed(by: read).bytes)
        _ = try target.reply()
        return try target.reply(StreamBatch.decodeAll)
    }

    private mutating func connectedSource() throws(RedisConnection.Failure) -> RedisConnection {
        if let source { return source }
        let made = try resolver.connect(name: name)
        source = made
        return made
    }

    private mutating func connectedTarget(
        _ endpoint: RedisConfiguration.Endpoint
    ) throws(RedisConnection.Failure) -> RedisConnection {
        if let target, target.endpoint == endpoint { return target }
        let made = try resolver.connect(to: endpoint, name: name)
        target = made
        return made
    }
}
