package import NIOCore
package import Pacing

/// The rate of one peer's messages, the part that it uses of its address's rate, and the pause for a peer that exceeds
/// either.
///
/// Owned by its event loop, whose clock it reads.
package final class InputThrottle {
    private let eventLoop: any EventLoop
    private var rate: InputRate
    private var timer: Scheduled<Void>?
    private var address: AddressRate?
    /// Whether the next message is paid to the address's rate.
    private var isPrepaid = false
    /// The time at which to ask the address's rate again; nil while it permits messages.
    private var addressAskMs: Int64?

    package init(perSecond: Int, burst: Int, on eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        rate = InputRate(perSecond: perSecond, burst: burst)
    }

    /// Whether nothing more is to be taken from the peer for now.
    package var isPausing: Bool { timer != nil }

    /// Counts messages for an address, too, from now on, until `cancel`. Call at most once.
    package func count(for address: AddressRate?) { self.address = address }

    /// Counts the beginning of a connection or call as a message of its address.
    /// - Returns: false if it is to be paused.
    package func begin() -> Bool {
        guard let waitMs = address?.begin(nowMs: nowMs) else { return true }
        isPrepaid = waitMs == 0
        addressAskMs = waitMs == 0 ? nil : nowMs + waitMs
        return isPrepaid
    }

    /// Counts one message.
    /// - Parameter isAnswer: whether we caused it; then it does not count for the address.
    package func arrived(isAnswer: Bool = false) -> InputRate.Step {
        let step = rate.arrived(nowMs: nowMs)
        guard !isAnswer, addressStep() == .over, step == .within else { return step }
        return .over
    }

    /// Counts something that only the address's rate limits.
    package func addressStep() -> InputRate.Step {
        guard let address else { return .within }
        if isPrepaid {
            isPrepaid = false
            return .within
        }
        let waitMs = address.arrived(nowMs: nowMs)
        guard waitMs > 0 else { return .within }
        addressAskMs = nowMs + waitMs
        return .over
    }

    /// Calls `resume` once the rates permit another message. Does nothing if the peer is paused already.
    /// - Parameter addressMaxMs: the time after which the address's rate is not waited for any more.
    package func pause(addressMaxMs: Int64 = .max, _ resume: @escaping () -> Void) {
        guard timer == nil else { return }
        let addressMs = (addressAskMs ?? 0) - nowMs
        let waitMs = max(1, rate.pauseMs(nowMs: nowMs), min(addressMs, addressMaxMs))
        if addressMs > addressMaxMs { addressAskMs = nil }
        timer = eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(waitMs)) { [weak self] in
            guard let self else { return }
            timer = nil
            if mayGoOn() { resume() } else { pause(addressMaxMs: max(1, addressMaxMs - waitMs), resume) }
        }
    }

    private func mayGoOn() -> Bool {
        if rate.pauseMs(nowMs: nowMs) > 0 { return false }
        // Others of the address may have used what this one waited for.
        return addressAskMs == nil || begin()
    }

    /// Ends the pause without a call, and the part in the address's rate.
    package func cancel() {
        timer?.cancel()
        timer = nil
        addressAskMs = nil
        address?.leave()
        address = nil
    }

    private var nowMs: Int64 { eventLoop.ratesMs }
}

extension EventLoop {
    /// The time by which rates are counted, in milliseconds. It is the clock of the timers that end their pauses.
    var ratesMs: Int64 { Int64(now.uptimeNanoseconds / 1_000_000) }
}

@available(*, unavailable)
extension InputThrottle: Sendable {}
