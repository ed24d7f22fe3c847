import NIOCore
import SeededRandom
import TestSupport
import Testing

@testable import GRPC

@Suite struct GRPCMessagesTests {
    private static func bytes(_ text: String, compressed: UInt8 = 0) -> ByteBuffer {
        var bytes = ByteBuffer(bytes: [compressed])
        bytes.writeInteger(UInt32(text.utf8.count))
        bytes.writeString(text)
        return bytes
    }

    /// How the bytes come does not matter.
    @Test(arguments: 0..<50 * FuzzLength.factor) func anyCutGivesTheSame(_ seed: Int) {
        var random = SeededRandom(seed: UInt64(seed))
        let texts = (0..<20).map {
            "\($0)" + String(repeating: "t", count: random.below(random.below(2) == 0 ? 3 : 900))
        }
        var bytes = ByteBuffer()
        for text in texts { bytes.writeImmutableBuffer(Self.bytes(text)) }
        var messages = GRPCMessages(bytesMax: 1_000)
        var found: [String] = []
        while let part = bytes.readSlice(
            length: min(bytes.readableBytes, 1 + random.below(random.below(2) == 0 ? 4 : 2_000))),
            part.readableBytes > 0
        {
            messages.append(part)
            while case .message(let message) = messages.next() { found.append(String(buffer: message)) }
            #expect(messages.heldBytes < 1_005, "seed \(seed)")
        }
        #expect(found == texts && messages.heldBytes == 0, "seed \(seed)")
    }

    @Test func aTooLongMessageIsRefusedByItsLength() {
        var messages = GRPCMessages(bytesMax: 3)
        messages.append(Self.bytes("abc"))
        messages.append(ByteBuffer(bytes: [0, 0, 0, 0]))
        #expect(messages.next() == .message(ByteBuffer(string: "abc")))
        #expect(messages.next() == .incomplete)
        messages.append(ByteBuffer(bytes: [4]))
        #expect(messages.next() == .tooLong)
        var compressed = GRPCMessages(bytesMax: 3)
        compressed.append(Self.bytes("abc", compressed: 1))
        #expect(compressed.next() == .compressed)
    }

    @Test func aWindowIsGivenBackInHalves() {
        var window = InboundWindow()
        #expect(window.released(32_767) == nil)
        #expect(window.released(1) == 32_768)
        #expect(window.released(32_767) == nil)
        #expect(window.released(40_000) == 72_767)
        #expect(window.released(0) == nil)
    }
}
