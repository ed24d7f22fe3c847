import Clocks
import NIOCore
import Sessions

/// Refusals of subscriptions that wait for a repeated request under the same id.
extension ClientSession {
    func refuse(_ id: String, _ bytes: [UInt8]) {
        switch refusals.refused(id, bytes, nowMs: MonotonicClock.nowMs()) {
        case .send(let bytes): connection.send(message: ByteBuffer(bytes: bytes))
        case .hold: break
        case .setTimer(let ms): armRefusals(afterMs: ms)
        }
    }

    private func armRefusals(afterMs: Int64) {
        let bound = NIOLoopBound(self, eventLoop: connection.eventLoop)
        timers.refusals = connection.eventLoop.scheduleTask(in: .milliseconds(afterMs)) {
            let session = bound.value
            let (due, nextMs) = session.refusals.timerFired(nowMs: MonotonicClock.nowMs())
            for bytes in due { session.connection.send(message: ByteBuffer(bytes: bytes)) }
            if let nextMs { session.armRefusals(afterMs: nextMs) }
        }
    }

    /// Sends all refusals now, before the connection is closed.
    func sendRefusals() {
        for bytes in refusals.takeAll() { connection.send(message: ByteBuffer(bytes: bytes)) }
    }
}
