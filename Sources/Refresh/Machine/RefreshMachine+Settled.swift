package import LiveModel

/// What no event touches keeps the position of its last run. On a busy shard that would soon be too old for the next owner
/// to judge, so now and then gateways are told how far what they hold is fresh.
extension RefreshMachine {
    /// The answer to a summary that fits; none when there is nothing new to say.
    mutating func settled(for gateway: NodeID, in shard: ShardID) -> [RefreshAction] {
        guard let through = shards[shard]?.lastEventID, through != .zero,
            shards[shard]?.settledThrough[gateway] != through, let epoch = shards[shard]?.epoch,
            let slots = shards[shard]?.slots
        else { return [] }
        var held = HeldFingerprint()
        var except: [LiveQueryKey] = []
        for slot in slots {
            guard let state = states[slot], state.subscribers[gateway] != nil else { continue }
            if let digest = state.settledDigest(of: gateway) {
                held.insert(state.query.key, digest)
            } else {
                except.append(state.query.key)
            }
        }
        // Where so much is under way, positions move with the runs.
        guard held != HeldFingerprint(), except.count <= settings.settledExceptionsMax else { return [] }
        shards[shard]?.settledThrough[gateway] = through
        except.sort { $0.digest.prefix < $1.digest.prefix }
        return [
            .send(to: gateway, .settled(shard: shard, epoch: epoch, through: through, except: except, held: held))
        ]
    }
}
