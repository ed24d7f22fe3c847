package import LiveModel

/// What no event touches keeps the position of its last run. On a busy shard that would soon be too old for the next owner
/// to judge, so now and then gateways are told how far what they hold is fresh.
extension RefreshMachine {
    /// The answer to a summary that fits; none when there is nothing new to say.
    /// - Parameter known: what the gateway knows already.
    func settled(for gateway: NodeID, in shard: ShardID, after known: StreamID) -> [RefreshAction] {
        guard let through = shards[shard]?.lastEventID, through != .zero, through != known,
            let epoch = shards[shard]?.epoch, let slots = shards[shard]?.slots,
            slots.count <= settings.settledLiveQueriesMax
        else { return [] }
        var held = HeldFingerprint()
        var except: [LiveQueryKey] = []
        for slot in slots {
            guard let query = states[slot]?.query, states[slot]?.subscribers[gateway] != nil else { continue }
            if let digest = states[slot]?.settledDigest(of: gateway) {
                held.insert(query.key, digest)
            } else {
                except.append(query.key)
                // Where so much is under way, positions move with the runs.
                if except.count > settings.settledExceptionsMax { return [] }
            }
        }
        if held == HeldFingerprint() { return [] }
        except.sort { $0.digest.prefix < $1.digest.prefix }
        return [
            .send(to: gateway, .settled(shard: shard, epoch: epoch, through: through, except: except, held: held))
        ]
    }
}
