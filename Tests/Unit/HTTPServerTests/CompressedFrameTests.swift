import NIOCore
import NIOWebSocket
import Testing

@testable import HTTPServer

@Suite struct CompressedFrameTests {
    private static func frame(
        _ opcode: WebSocketOpcode, _ bytes: [UInt8], fin: Bool = true, rsv1: Bool = false
    ) -> WebSocketFrame {
        let key: WebSocketMaskingKey = [0, 0, 0, 0]
        return WebSocketFrame(
            fin: fin, rsv1: rsv1, opcode: opcode, maskKey: key, data: ByteBuffer(bytes: bytes))
    }

    private static func outcomes(
        _ frames: [WebSocketFrame], allowsCompressed: Bool = true
    ) -> [WebSocketAssembler.Outcome] {
        var assembler = WebSocketAssembler()
        return frames.map { assembler.add($0, bytesMax: 10, allowsCompressed: allowsCompressed) }
    }

    @Test func fragmentsAreJoinedBeforeTheyAreInflated() {
        let frames = [
            Self.frame(.text, [1], fin: false, rsv1: true), Self.frame(.continuation, [2], fin: false),
            Self.frame(.continuation, [3]), Self.frame(.binary, [4], rsv1: true), Self.frame(.binary, [5]),
        ]
        #expect(
            Self.outcomes(frames) == [
                .none, .none, .compressed(isText: true, ByteBuffer(bytes: [1, 2, 3])),
                .compressed(isText: false, ByteBuffer(bytes: [4])), .binary(ByteBuffer(bytes: [5])),
            ])
    }

    @Test(arguments: [WebSocketOpcode.continuation, .ping, .pong, .connectionClose])
    func onlyTheFirstFrameOfAMessageMayBeMarked(_ opcode: WebSocketOpcode) {
        let frames = [Self.frame(.text, [1], fin: false, rsv1: true), Self.frame(opcode, [], rsv1: true)]
        #expect(Self.outcomes(frames) == [.none, .fail(1002)])
    }

    @Test func withoutAgreementAMarkIsAnError() {
        #expect(Self.outcomes([Self.frame(.text, [1], rsv1: true)], allowsCompressed: false) == [.fail(1002)])
    }

    @Test func compressedBytesHaveAMaximum() {
        let frames = [Self.frame(.text, [UInt8](repeating: 0, count: 11), rsv1: true)]
        #expect(Self.outcomes(frames) == [.fail(1009)])
    }
}
