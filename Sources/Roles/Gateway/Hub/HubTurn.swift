import LiveModel
import NIOCore
import RoleMachines
import Sessions

/// The steps that hubs take in one turn of their event loops, in order.
///
/// Waking an event loop costs more than a small result, and several results for one session in one turn are one write.
struct HubTurn {
    /// Steps after which the turn begins, so that the first result need not wait for the decoding of many others.
    static let stepsMax = 64

    enum Step: Sendable {
        case deliver(InterestMachine.Delivery, key: LiveQueryKey, answers: UInt64)
        case forgetPositions(LiveQueryKey, from: UInt64)
        case passMarker(MarkerRelay)
        case answerWait(InterestMachine.WaitID, RequestError?)
    }

    private let hubs: [LoopHub]
    /// The steps of each hub.
    private var steps: [[Step]]
    private var count = 0

    init(hubs: [LoopHub]) {
        self.hubs = hubs
        steps = Array(repeating: [], count: hubs.count)
    }

    var isFull: Bool { count >= Self.stepsMax }

    /// - Parameter indices: the hubs that perform the step.
    mutating func append(_ step: Step, to indices: [Int]) {
        for index in indices { steps[index].append(step) }
        count += 1
    }

    /// Appends the effects that are steps of event loops; the others are not for them.
    mutating func append(_ effects: [GatewayMachine.Effect]) {
        for effect in effects {
            switch effect {
            case .deliver(let hubs, let key, let delivery, let answers):
                append(.deliver(delivery, key: key, answers: answers), to: hubs)
            case .forgetPositions(let hubs, let key, let from): append(.forgetPositions(key, from: from), to: hubs)
            case .passMarker(let arrived):
                append(.passMarker(MarkerRelay(arrived, loops: hubs.count)), to: Array(hubs.indices))
            // Only the session's own event loop matters.
            case .answerWait(let hub, let id, let error, _): append(.answerWait(id, error), to: [hub])
            case .gather, .append, .readEpoch, .reportEpoch, .reportUnsent, .reportLoss, .trimInbox, .reportProbe,
                .reportResult, .sample, .reportMarker, .ensureAppended, .appendTicket:
                break
            }
        }
    }

    /// Hands the steps to the event loops; later steps belong to another turn.
    mutating func begin() {
        guard count > 0 else { return }
        count = 0
        for (index, hub) in hubs.enumerated() where !steps[index].isEmpty {
            let steps = steps[index]
            self.steps[index] = []
            hub.eventLoop.execute { hub.perform(steps) }
        }
    }
}
