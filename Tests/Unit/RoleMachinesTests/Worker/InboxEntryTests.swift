import LiveModel
import Streams
import Testing

@testable import RoleMachines

@Suite struct InboxEntryTests {
    private static func message(_ number: Int, to gateway: String, bodyBytes: Int = 0) -> OutgoingMessage {
        let answer = OperationAnswer(body: Array(repeating: 0x20, count: bodyBytes))
        return OutgoingMessage(
            to: NodeID(gateway),
            .result(
                shard: ShardID(0), key: LiveQueryKey(digest: Digest(of: "\(number)".utf8)),
                result: LiveResult(
                    position: Position(epoch: 1, run: UInt64(number), id: .zero), digest: answer.digest,
                    answer: answer)))
    }

    /// The gateway and the numbers of the messages of each entry.
    private static func entries(
        _ batch: [OutgoingMessage], bytesMax: Int = 1 << 20, messagesMax: Int = 100
    ) -> [String] {
        InboxEntry.entries(of: batch, bytesMax: bytesMax, messagesMax: messagesMax) {
            StreamAppend(stream: $0.name, fields: $1)
        }.map { entry in
            let read = try? InboxMessage.all(in: entry.append.fields)
            #expect(read == entry.messages, "the fields are those of the messages")
            let numbers = entry.messages.map { message in
                if case .result(_, _, let result, _) = message { "\(result.position.run)" } else { "?" }
            }
            return "\(entry.append.stream): \(numbers.joined(separator: " "))"
        }
    }

    @Test func messagesToOneGatewayShareAnEntryInOrder() {
        let batch = [(1, "a"), (2, "b"), (3, "a"), (4, "a"), (5, "b")].map { Self.message($0, to: $1) }
        #expect(Self.entries(batch) == ["a: 1 3 4", "b: 2 5"])
        #expect(Self.entries([]) == [])
    }

    @Test func entriesAreBoundedInMessagesAndBytes() {
        let many = (1...5).map { Self.message($0, to: "a") }
        #expect(Self.entries(many, messagesMax: 2) == ["a: 1 2", "a: 3 4", "a: 5"])
        let sized = [(1, 10), (2, 9_000), (3, 10), (4, 10)].map { Self.message($0, to: "a", bodyBytes: $1) }
        #expect(Self.entries(sized, bytesMax: 2_000) == ["a: 1", "a: 2", "a: 3 4"], "a larger message is alone")
    }
}
