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

    /// Whether a read was refused because the slot is moving.
    static func isReason(_ error: BrokerError) -> Bool {
        let word = RedisFailure(message: error.detail).word
        return word == "ASK" || word == "TRYAGAIN"
    }

    /// - Parameter read: one command that reads one stream.
    /// - Returns: at most one batch, or why the stream could not be read, for instance because the move is over.
    mutating func answer(_ read: CommandBuffer) throws(RedisConnection.Failure) -> Result<[StreamBatch], BrokerError> {
        if source == nil { source = try resolver.connect(name: name) }
        guard let source else { return .success([]) }
        try source.write(read.bytes)
        let answer = try source.reply(StreamBatch.decodeAll)
        guard case .failure(let error) = answer,
            case .ask(let endpoint) = Redirection(RedisFailure(message: error.detail), asked: source.endpoint)
        else {
            if case .failure(let error) = answer { resolver.refused(error.detail, by: source.endpoint) }
            return answer
        }
        if target?.endpoint != endpoint { target = try resolver.connect(to: endpoint, name: name) }
        guard let there = target else { return .success([]) }
        try there.write(CommandBuffer("ASKING").followed(by: read).bytes)
        _ = try there.reply()
        return try there.reply(StreamBatch.decodeAll)
    }
}
