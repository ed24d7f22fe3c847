package import LiveModel
import Refresh
package import Sharding
package import Streams

extension WorkerMachine {
    /// Identifies one call to a server; the answer carries it back.
    package struct CallID: Hashable, Sendable, CustomStringConvertible {
        let number: UInt64

        package var description: String { "call \(number)" }
    }

    /// A request to the broker. Concurrent calls may be performed in any order.
    package enum BrokerCall: Sendable, Hashable {
        /// Reads the last id that the stream assigned. Answer: `lastID`, zero if there is no stream.
        case lastID(stream: String)
        /// Reads the last entries before an id, newest first. Answer: `entries`.
        case newest(stream: String, before: StreamID, limit: Int)
        /// Reads all living nodes. Answer: `nodes`.
        case nodes
        /// Answer: `lease`.
        case requestLease(key: String, owner: NodeID, ttlMs: Int64, basis: String, epoch: UInt64)
        /// Answer: `done`, false if the lease is not held under this epoch.
        case renewLease(key: String, owner: NodeID, epoch: UInt64, ttlMs: Int64)
        /// Answer: `done`.
        case releaseLease(key: String, owner: NodeID, epoch: UInt64)
        /// Records up to which entry the workers' group has applied a stream. Answer: `done`, false if fenced off.
        case checkpoint(stream: String, id: StreamID, lease: String, epoch: UInt64)
        /// Removes entries with ids below `minimumID`. Answer: `done`, false if fenced off.
        case trim(stream: String, minimumID: StreamID, lease: String, epoch: UInt64)
        /// Makes every worker look at nodes and leases now, in the name of this one. Answer: `done`.
        case wakeWorkers(of: NodeID)
        /// Reads which shards are marked as unfollowed. Answer: `unfollowed`.
        case unfollowedShards
        /// Changes the cluster overrides. Answer: `done`.
        case changeOverrides([OverrideChange])
        /// Answer: `done`.
        case appendResyncMarker(stream: String)
    }

    /// The answer to a `BrokerCall`.
    package enum BrokerReply: Sendable {
        case lastID(StreamID)
        case entries([StreamEntry])
        case nodes([NodeRecord])
        case lease(LeaseAnswer)
        case unfollowed(Set<ShardID>)
        case done(Bool)
        /// The call timed out or was refused. It may have been executed.
        case failed(String)
    }

    /// A request to the database.
    package enum DatabaseCall: Sendable, Hashable {
        /// Answer: `epochs`.
        case readEpochs(ShardID)
        /// Records an epoch. Answer: `recorded`.
        case recordEpoch(UInt64, ShardID)
    }

    /// The answer to a `DatabaseCall`.
    package enum DatabaseReply: Sendable, Hashable {
        /// The newest recorded epoch of the shard, 0 if none, and the time of the database's clock.
        case epochs(recorded: UInt64, clockMs: UInt64)
        /// False: an epoch that is not below this one is already recorded.
        case recorded(Bool)
        /// The call timed out or was refused. It may have been executed.
        case failed(String)
    }

    package struct LogLine: Sendable, Hashable {
        package enum Level: Sendable { case info, warning }

        package let level: Level
        package let message: String
        package let metadata: [String: String]
    }

    /// The purpose of a call in flight, which receives its answer. Bound: each call ends, at the latest by its timeout.
    /// A shard has at most one start, one step of `FollowedShards`, one page of older events and one hand-over step in
    /// flight, and as many negotiations and renewals as begin within one timeout; a worker has
    /// `RefreshSettings.runsMax` live queries in runs and one batch of messages in flight.
    enum PendingCall: Sendable {
        case negotiation(EpochNegotiation)
        case start(ShardStart)
        case renewal(ShardID, epoch: UInt64, sentMs: Int64)
        /// Precedes the release of the lease.
        case finalCheckpoint(ShardID, epoch: UInt64)
        case release(ShardID, epoch: UInt64)
        case checkpoint(ShardID, epoch: UInt64, StreamID)
        case trim
        case replay(ReplayPage)
        case wakeWorkers
        /// Marks shards, owned under these epochs, as unfollowed.
        case marking([ShardID: UInt64])
        case following(FollowedShards.Step, ShardID, epoch: UInt64)
        case run(RunBatch)
        /// The gateway and the live query of each message.
        case append([(gateway: NodeID, key: LiveQueryKey?)])

        /// Whether the call belongs to the release of a shard.
        var isRelease: Bool {
            switch self {
            case .finalCheckpoint, .release: true
            case .negotiation, .start, .renewal, .checkpoint, .trim, .replay, .wakeWorkers, .marking, .following,
                .run, .append:
                false
            }
        }

        /// Whether a drain waits for the call: granted leases are released, applied positions are recorded, and the
        /// other workers are woken.
        var isHandOver: Bool {
            switch self {
            case .negotiation, .finalCheckpoint, .release, .wakeWorkers: true
            case .start, .renewal, .checkpoint, .trim, .replay, .marking, .following, .run, .append: false
            }
        }
    }
}
