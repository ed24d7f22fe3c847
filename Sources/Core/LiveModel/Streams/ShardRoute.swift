/// The shard that a live query belongs to, and the version of its operation's splits that placed it there.
///
/// Version 0 means the operation's first shard, which receives every event that concerns the operation under any
/// splits, so its positions stay valid across changes. Any other shard receives them only while the splits cover it:
/// there the version is that of the change, and positions of another version are not comparable.
package struct ShardRoute: Hashable, Sendable {
    package let shard: ShardID
    package let version: UInt64

    package init(_ shard: ShardID, version: UInt64 = 0) {
        self.shard = shard
        self.version = version
    }
}
