import NIOCore
import Sessions

/// Refusals of subscriptions that wait for a repeated request under the same id.
extension ClientSession {
    /// The time that a refusal waits: more than lies between two messages that a client sends in a row.
    static var refusalDelayMs: Int64 { 20 }
    /// The most refusals that wait; further ones are sent at once.
    static var refusalsMax: Int { 256 }

    func refuse(_ id: String, _ bytes: [UInt8]) {
        refusals.removeValue(forKey: id)?.timer.cancel()
        guard refusals.count < Self.refusalsMax else { return connection.send(message: ByteBuffer(bytes: bytes)) }
        let bound = NIOLoopBound(self, eventLoop: connection.eventLoop)
        let timer = connection.eventLoop.scheduleTask(in: .milliseconds(Self.refusalDelayMs)) {
            guard let refusal = bound.value.refusals.removeValue(forKey: id) else { return }
            bound.value.connection.send(message: ByteBuffer(bytes: refusal.bytes))
        }
        refusals[id] = (bytes, timer)
    }

    /// Sends all refusals now, before the connection is closed.
    func sendRefusals() {
        let waiting = refusals.sorted { $0.key < $1.key }
        refusals = [:]
        for (_, refusal) in waiting {
            refusal.timer.cancel()
            connection.send(message: ByteBuffer(bytes: refusal.bytes))
        }
    }
}
