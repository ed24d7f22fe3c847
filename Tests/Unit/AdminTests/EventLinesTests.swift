import JSON
import NIOCore
import Testing

@testable import Admin

/// Server-sent events of another node, however they are cut.
@Suite struct EventLinesTests {
    private static let text = """
        : tail of n1

        event: run
        id: 1
        data: {"operation":"a/B","note":"line\\nbreak"}

        :

        event: node
        data: {"state":"joined"}

        event: broken
        data: {"state":


        """

    @Test(arguments: [1, 2, 7, 1_000])
    func partsOfAnySizeGiveTheSameEvents(_ size: Int) throws {
        var lines = EventLines()
        var names: [String] = []
        let bytes = Array(Self.text.utf8)
        for start in stride(from: 0, to: bytes.count, by: size) {
            let part = ByteBuffer(bytes: bytes[start..<min(bytes.count, start + size)])
            names += try lines.take(part).map { "\($0.name) \(JSONValue.object($0.json))" }
        }
        #expect(names == [#"run {"operation":"a/B","note":"line\nbreak"}"#, #"node {"state":"joined"}"#])
    }

    @Test func anEventWithoutEndEndsTheStream() throws {
        var lines = EventLines()
        let part = ByteBuffer(repeating: UInt8(ascii: "x"), count: EventLines.bytesMax / 2)
        #expect(try lines.take(part).isEmpty)
        #expect(throws: EventLines.TooLong.self) {
            _ = try lines.take(part)
            _ = try lines.take(part)
        }
    }
}
