import HTTPServer
import NIOCore
import NIOEmbedded
import NIOHTTP2
import SeededRandom
import TestSupport
import Testing

@testable import GRPC

/// Calls in any order, of any size, read or not, given up or ended by a wrong frame or not: what arrives is what was
/// sent, and nothing is left over.
@Suite struct GRPCRandomTests {
    private struct Model {
        var isInputOver = false
        var isOver = false
        var sent: [String] = []
        var answers: [String] = []
    }

    @Test(arguments: 0..<40 * FuzzLength.factor) func everyMessageArrivesOnceAndInItsPlace(_ seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        var configuration = GRPCPair.unhurried
        configuration.callsMax = 150
        let calls = TestCalls()
        let pair = try GRPCPair(calls, configuration)
        var models: [(id: HTTP2StreamID, model: Model)] = []
        func text() -> String {
            let length = random.below(4) == 0 ? random.below(90_000) : random.below(40)
            return "\(random.below(1_000))" + String(repeating: "x", count: length)
        }
        for step in 0..<150 {
            let open = models.indices.filter { !models[$0].model.isOver }
            guard let index = open.isEmpty ? nil : open[random.below(open.count)], random.below(6) != 0 else {
                guard open.count < 8 else { continue }
                models.append((try pair.call("/stream"), Model()))
                #expect(calls.streams.count == models.count, "seed \(seed), step \(step)")
                continue
            }
            let (id, call) = (models[index].id, calls.streams[index].call)
            switch random.below(12) {
            case 0, 1, 2:
                // The rest of what its window holds back would stand behind an end.
                guard !models[index].model.isInputOver else { continue }
                let message = text()
                models[index].model.sent.append(message)
                try pair.send(message, on: id)
            case 3, 4, 5, 6:
                call.gathered {
                    for _ in 0...random.below(3) {
                        let answer = text()
                        models[index].model.answers.append(answer)
                        call.send(
                            prefix: Array(answer.utf8.prefix(9)),
                            shared: ByteBuffer(string: String(answer.dropFirst(9))))
                    }
                }
                try pair.carry()
            case 7:
                guard !models[index].model.isInputOver else { continue }
                models[index].model.isInputOver = true
                try pair.write(id, .data(.init(data: .byteBuffer(ByteBuffer()), endStream: true)))
            case 8:
                pair.isReading.toggle()
                try pair.carry()
            case 9:
                models[index].model.isOver = true
                call.finish(.ok)
                try pair.carry()
            case 10 where random.below(3) == 0:
                models[index].model.isOver = true
                pair.giveUp(id)
                try pair.write(id, .rstStream(.cancel))
            case 11 where random.below(4) == 0:
                models[index].model.isOver = true
                pair.giveUp(id)
                try pair.frame(GRPCPair.windowUpdate, on: id, [0, 0, 0, 0])
            default: try pair.read(id)
            }
        }
        pair.isReading = true
        try pair.carry()
        for (index, (id, model)) in models.enumerated() where !pair.givenUp.contains(id) {
            let what = "seed \(seed), call \(index)"
            let messages = pair.seen[id, default: []].filter { $0.hasPrefix("message ") }.map {
                String($0.dropFirst(8))
            }
            #expect(messages == model.answers, "\(what)")
            #expect((pair.seen[id]?.last == "end") == model.isOver, "\(what): \(pair.seen[id]?.last?.prefix(40) ?? "")")
            let events = calls.streams[index].events
            let got = events.filter { $0.hasPrefix("got ") }.map { String($0.dropFirst(4)) }
            #expect(model.isOver ? model.sent.starts(with: got) : got == model.sent, "\(what)")
            #expect(events.filter { $0 == "closed" }.count == (model.isOver ? 1 : 0), "\(what)")
            #expect(calls.streams[index].call.pendingBytes == 0, "\(what)")
        }
        pair.server.close(promise: nil)
        pair.server.embeddedEventLoop.run()
        #expect(calls.streams.allSatisfy { $0.events.filter { $0 == "closed" }.count == 1 }, "seed \(seed)")
        var held = [HeldBytes](repeating: HeldBytes(), count: (1 << 20) / BytesBudget.smallMax)
        let isFree = held.indices.allSatisfy { pair.bodies.change(&held[$0], to: BytesBudget.smallMax) }
        #expect(isFree, "seed \(seed): nothing is held")
        #expect(pair.goAways == [], "seed \(seed)")
    }
}
