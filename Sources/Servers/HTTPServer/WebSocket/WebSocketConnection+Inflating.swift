import NIOCore
import Pacing

/// Decompresses a client's messages.
extension WebSocketConnection {
    /// A message that grows counts as one for each of these: what a client may have decompressed has a rate, too.
    private static let inflatedBytesPerMessage = 16 * 1_024

    func inflate(_ payload: ByteBuffer, isText: Bool) {
        let maximum = transport.table.context.configuration.webSocketFrameBytesMax
        switch transport.table.compression?.inflate(payload, bytesMax: maximum) {
        case .bytes(let bytes)?:
            let growth = bytes.readableBytes - payload.readableBytes
            for _ in 0..<max(0, growth / Self.inflatedBytesPerMessage) {
                switch throttle.arrived() {
                case .within: break
                case .over: pauseReading()
                case .excessive: return fail(1008, "too many messages")
                }
            }
            perform(WebSocketAssembler.whole(isText: isText, isCompressed: false, bytes))
        case .tooLong?: fail(1009)
        case .malformed?, nil: fail(1007)
        }
    }
}
