import LiveModel
import RoleMachines
import Sessions

// Short forms of messages and effects for the trace.

extension LiveQueryKey {
    var short: String { String(digest.hex.prefix(4)) }
}

extension InboxMessage {
    var short: String {
        switch self {
        case .result(_, let key, let result, _):
            "result \(key.short) \(result.digest.hex.prefix(4)) \(result.position) "
                + String(decoding: result.answer.body, as: UTF8.self)
        case .unchanged(_, let key, let digest, let position, let epoch, _):
            "unchanged \(key.short) \(digest.hex.prefix(4)) \(position) by \(epoch)"
        case .unchangedTick(_, let key, let digest, let position, _):
            "ticked \(key.short) \(digest.hex.prefix(4)) \(position)"
        case .failed(_, let key, let position, let error, _): "failed \(key.short) \(position) \(error.message)"
        case .announceAll(let shard, let epoch): "announceAll \(shard) \(epoch)"
        case .settled(let shard, let epoch, let through, let except, _):
            "settled \(shard) through \(through) by \(epoch) except \(except.map(\.short))"
        case .marker(let shard, let epoch, let marker): "marker \(shard) \(marker.entry) by \(epoch)"
        case .ticket(let shard, let epoch, let number): "ticket \(shard) \(number) by \(epoch)"
        }
    }
}

extension GatewayMachine.Effect {
    var short: String {
        switch self {
        case .gather: "gather"
        case .append(let id, let messages): "append \(messages.count) #\(id)"
        case .reportUnsent(let count, let reason): "\(count) not sent: \(reason)"
        case .sample: "sample"
        case .passMarker(let arrived): "marker of \(arrived.shard) \(arrived.marker.entry) counts"
        case .reportMarker(let hops): "marker took \(hops.endToEndMs) ms"
        case .ensureAppended(let id, let position): "wait \(id) for \(position)"
        case .appendTicket(let shard, let ticket): "ticket \(ticket.number) of \(shard)"
        case .answerWait(_, let id, let error, _): "wait \(id) is over \(error?.message ?? "")"
        case .reportLoss(let loss): "lost: \(loss)"
        case .trimInbox(let minimumID): "trim the inbox below \(minimumID)"
        case .reportProbe: "probe"
        case .reportResult(_, let result): "result \(result.position)"
        case .readEpoch(let shard, let call): "read epoch of \(shard) #\(call)"
        case .forgetPositions(let hubs, let key, let from): "\(hubs) \(key.short) begins again from \(from)"
        case .reportEpoch(let shard, let named, let recorded): "\(shard) named \(named), recorded \(recorded)"
        case .deliver(let hubs, let key, .result(let result), _): "\(hubs) \(key.short) result \(result.position)"
        case .deliver(let hubs, let key, .unchangedTick(let result), _): "\(hubs) \(key.short) again \(result.position)"
        case .deliver(let hubs, let key, .unchanged, _): "\(hubs) \(key.short) unchanged"
        case .deliver(let hubs, let key, .failed, _): "\(hubs) \(key.short) failed"
        case .deliver(let hubs, let key, .unanswered, _): "\(hubs) \(key.short) unanswered"
        }
    }
}

extension ControlMessage {
    var short: String {
        switch self {
        case .announce(_, let query, let known, _):
            "announce \(query.key.short) "
                + (known.map { "\($0.digest.hex.prefix(4)) \($0.position?.description ?? "-")" } ?? "-")
        case .withdraw(_, let key): "withdraw \(key.short)"
        case .leave: "leave"
        case .summary(_, let count, _, _): "summary \(count)"
        }
    }
}
