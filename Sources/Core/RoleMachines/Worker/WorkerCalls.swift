package import LiveModel
import Refresh
package import Streams

extension WorkerMachine {
    /// Names one call to a server; its answer carries it back.
    package struct CallID: Hashable, Sendable, CustomStringConvertible {
        let number: UInt64

        package var description: String { "call \(number)" }
    }

    /// One request to the broker. Calls that are made at the same time may be performed in any order.
    package enum BrokerCall: Sendable, Hashable {
        /// The last id that the stream assigned. Answer: `lastID`, zero when there is no stream.
        case lastID(stream: String)
        /// The last entries before an id, newest first. Answer: `entries`.
        case newest(stream: String, before: StreamID, limit: Int)
        /// Every living node. Answer: `nodes`.
        case nodes
        /// Answer: `lease`.
        case askLease(key: String, owner: NodeID, ttlMs: Int64, basis: String, epoch: UInt64)
        /// Answer: `done`, false when the lease is not held under this epoch.
        case renewLease(key: String, owner: NodeID, epoch: UInt64, ttlMs: Int64)
        /// Answer: `done`.
        case releaseLease(key: String, owner: NodeID, epoch: UInt64)
        /// Records for the workers' group how far a stream is applied. Answer: `done`, false when fenced off.
        case checkpoint(stream: String, id: StreamID, lease: String, epoch: UInt64)
        /// Removes entries with ids below `minimumID`. Answer: `done`, false when fenced off.
        case trim(stream: String, minimumID: StreamID, lease: String, epoch: UInt64)
        /// Wakes every worker, in the name of this one, to look at nodes and leases now. Answer: `done`.
        case wakeWorkers(of: NodeID)
    }

    /// The answer to a `BrokerCall`.
    package enum BrokerReply: Sendable {
        case lastID(StreamID)
        case entries([StreamEntry])
        case nodes([NodeRecord])
        case lease(LeaseAnswer)
        case done(Bool)
        /// No answer in time, or a refusal. The call may have been executed.
        case failed(String)
    }

    /// One request to the database.
    package enum DatabaseCall: Sendable, Hashable {
        /// Answer: `epochs`.
        case readEpochs(ShardID)
        /// Records an epoch. Answer: `recorded`.
        case recordEpoch(UInt64, ShardID)
    }

    /// The answer to a `DatabaseCall`.
    package enum DatabaseReply: Sendable, Hashable {
        /// The newest epoch that was recorded for the shard, 0 without one; and what a new epoch must be above, by the
        /// database's clock, too.
        case epochs(recorded: UInt64, floor: UInt64)
        /// False: an epoch was recorded that is not below this one.
        case recorded(Bool)
        /// No answer in time, or a refusal. The call may have been executed.
        case failed(String)
    }

    /// What a call under way is for; its answer goes there. Bound: each call ends, if by its timeout. A shard has at
    /// most one start, one page of older events and one step of hand-over under way, and as many negotiations and
    /// renewals as begin in the time of a timeout; a worker has `RefreshSettings.runsMax` live queries in runs, and one
    /// batch of messages under way.
    enum PendingCall: Sendable {
        case negotiation(EpochNegotiation)
        case start(ShardStart)
        case renewal(ShardID, epoch: UInt64, sentMs: Int64)
        /// Before the lease goes back.
        case finalCheckpoint(ShardID, epoch: UInt64)
        case release(ShardID, epoch: UInt64)
        case checkpoint(ShardID, epoch: UInt64, StreamID)
        case trim
        case replay(ReplayPage)
        case wakeWorkers
        case run(RunBatch)
        /// The gateway and the live query of each message.
        case append([(gateway: NodeID, key: LiveQueryKey?)])

        /// A drain waits for these: what is granted goes back, what was applied is recorded, and the other workers are
        /// woken.
        var isHandOver: Bool {
            switch self {
            case .negotiation, .finalCheckpoint, .release, .wakeWorkers: true
            case .start, .renewal, .checkpoint, .trim, .replay, .run, .append: false
            }
        }
    }
}
