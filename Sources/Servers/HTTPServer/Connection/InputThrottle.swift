package import NIOCore
package import Pacing

/// The rate of one peer's messages, and the pause for a peer that exceeds it.
///
/// Owned by its event loop, whose clock it reads.
package final class InputThrottle {
    private let eventLoop: any EventLoop
    private var rate: InputRate
    private var timer: Scheduled<Void>?

    package init(perSecond: Int, burst: Int, on eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        rate = InputRate(perSecond: perSecond, burst: burst)
    }

    /// While true, nothing more is to be taken from the peer.
    package var isPausing: Bool { timer != nil }

    /// Counts one message.
    package func arrived() -> InputRate.Step { rate.arrived(nowMs: nowMs) }

    /// Calls `resume` once the rate permits another message. Does nothing if the peer is paused already.
    package func pause(_ resume: @escaping () -> Void) {
        guard timer == nil else { return }
        let waitMs = max(1, rate.pauseMs(nowMs: nowMs))
        timer = eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(waitMs)) { [weak self] in
            guard let self else { return }
            timer = nil
            if rate.pauseMs(nowMs: nowMs) > 0 { pause(resume) } else { resume() }
        }
    }

    /// Ends the pause without a call.
    package func cancel() {
        timer?.cancel()
        timer = nil
    }

    private var nowMs: Int64 { Int64(eventLoop.now.uptimeNanoseconds / 1_000_000) }
}

@available(*, unavailable)
extension InputThrottle: Sendable {}
