package import LiveModel

// The settings of a `ReadPlan`, the contents of its actions, and the reports to it.

extension ReadPlan {
    package typealias Lane = ReadLanes.Lane

    package struct Settings: Sendable {
        /// How long the server blocks a read.
        let blockMs: Int
        /// Time without an answer to a read after which its connection is considered dead.
        let silenceMaxMs: Int
        let reconnectMinMs: Int
        /// Also the time for which a reader uses a single connection after the second one failed.
        let reconnectMaxMs: Int

        package init(blockMs: Int, silenceMaxMs: Int, reconnectMinMs: Int, reconnectMaxMs: Int) {
            self.blockMs = max(1, blockMs)
            self.silenceMaxMs = silenceMaxMs
            self.reconnectMinMs = reconnectMinMs
            self.reconnectMaxMs = reconnectMaxMs
        }
    }

    /// The entry after which to follow a stream.
    package struct Start: Hashable, Sendable {
        package let cursor: StreamID
        /// The server that the cursor comes from, if known.
        package let server: String?

        package init(cursor: StreamID, server: String? = nil) {
            self.cursor = cursor
            self.server = server
        }
    }

    /// The start of each stream to follow; nil: unfollow it.
    package typealias Changes = [String: Start?]

    /// A stream and the last entry that the reader has of it.
    package struct Position: Hashable, Sendable {
        package let stream: String
        package let cursor: StreamID

        package init(stream: String, cursor: StreamID) {
            self.stream = stream
            self.cursor = cursor
        }
    }

    /// A blocking read, and a plain one sent along unless `plain` is empty. The counts limit the entries of each
    /// stream.
    package struct Read: Equatable, Sendable {
        package var blocking: [Position]
        package var blockingCount: Int
        package var blockMs: Int
        package var plain: [Position]
        package var plainCount: Int

        package init(
            blocking: [Position], blockingCount: Int, blockMs: Int, plain: [Position] = [], plainCount: Int
        ) {
            self.blocking = blocking
            self.blockingCount = blockingCount
            self.blockMs = blockMs
            self.plain = plain
            self.plainCount = plainCount
        }
    }

    /// The reason for dropping all connections.
    package enum Loss: Hashable, Sendable {
        /// No connection could be made.
        case unreachable
        case lost(String)
        /// The server refused a read with this message.
        case refused(String)

        package var reason: String? {
            switch self {
            case .unreachable: nil
            case .lost(let reason), .refused(let reason): reason
            }
        }
    }

    /// The reason why a server did not answer a read or a comparison.
    package enum Refusal: Error, Hashable, Sendable {
        /// Some of the streams are already on another node.
        case slotIsMoving(BrokerError)
        case failed(BrokerError)
    }

    /// A stream's state at the server.
    package struct Comparison: Hashable, Sendable {
        /// Nil if the stream does not exist.
        package let info: StreamInfo?
        /// Whether the entry at the reader's cursor exists.
        package let cursorExists: Bool

        package init(info: StreamInfo?, cursorExists: Bool) {
            self.info = info
            self.cursorExists = cursorExists
        }
    }

    package enum Watched: Hashable, Sendable {
        /// Answers have arrived, or connections have ended.
        case readable(hot: Bool, cold: Bool)
        case interrupted(Interruption)
        /// The time was reached.
        case elapsed
    }

    /// The reason why the consumer's side interrupted a wait.
    package struct Interruption: Hashable, Sendable {
        package var isClosed: Bool
        /// Streams were followed or unfollowed.
        package var hasChanges: Bool
        /// The consumer waits for a read.
        package var isReading: Bool
        /// The streams are now on another server.
        package var isMoved: Bool

        package init(isClosed: Bool = false, hasChanges: Bool = false, isReading: Bool = true, isMoved: Bool = false) {
            self.isClosed = isClosed
            self.hasChanges = hasChanges
            self.isReading = isReading
            self.isMoved = isMoved
        }
    }
}
