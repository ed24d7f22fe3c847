/// Where a live query belongs, and since which change of its operation's splits.
///
/// Version 0: the operation's first shard, which hears of every event that concerns the operation whatever its splits
/// are, so that its positions stay good across changes. Any other shard hears of them only while the splits cover it:
/// there the version is that of the change, and positions of another version say nothing.
package struct ShardRoute: Hashable, Sendable {
    package let shard: ShardID
    package let version: UInt64

    package init(_ shard: ShardID, version: UInt64 = 0) {
        self.shard = shard
        self.version = version
    }
}
