import HTTPServer
import NIOCore
import NIOEmbedded
import NIOHTTP2
import Testing

@testable import GRPC

/// Clients that send faster than their rates.
@Suite struct GRPCRateTests {
    @Test func aCallThatSendsTooFastIsReadMoreSlowlyAndNothingIsLost() throws {
        var configuration = GRPCPair.unhurried
        configuration.messagesPerSecond = 10
        configuration.messagesBurst = 5
        let calls = TestCalls()
        let pair = try GRPCPair(calls, configuration)
        let id = try pair.call("/stream")
        for number in 1...20 { try pair.send("\(number)", on: id) }
        #expect(calls.streams[0].events.count == 6, "the burst, and the one that was found to be too many")
        try pair.pass(seconds: 1)
        let later = calls.streams[0].events.count
        #expect(later > 6 && later < 20, "\(later)")
        let other = try pair.call("/stream")
        try pair.send("another call has its own rate", on: other)
        #expect(calls.streams[1].events.count == 1)
        try pair.pass(seconds: 2)
        #expect(calls.streams[0].events == (1...20).map { "got \($0)" })
        try pair.send("last", on: id, ends: true)
        #expect(calls.streams[0].events.suffix(2) == ["got last", "input ended"])
    }

    @Test func aFloodOfPingsEndsTheConnection() throws {
        var configuration = GRPCPair.unhurried
        configuration.controlFramesPerSecond = 40
        let pair = try GRPCPair(TestCalls(), configuration)
        let ping = GRPCPair.bytes(GRPCPair.ping, on: .rootStream, Array(repeating: 7, count: 8))
        for _ in 0..<150 { pair.receive(ping) }
        #expect(pair.cutOffCount == 0)
        let id = try pair.call("/echo")
        try pair.send("slowed, but not refused", on: id, ends: true)
        #expect(pair.seen[id]?.contains("message slowed, but not refused") == true)
        for _ in 0..<20 { pair.receive(ping) }
        try pair.carry()
        #expect(pair.goAways == [.enhanceYourCalm])
        #expect(pair.cutOffCount == 1)
    }

    @Test func cancelledCallsAndPingsCountForTheirAddressAlsoAfterReconnects() throws {
        let rates = AddressRates(perSecond: 10, burst: 30) { $0 == "127.0.0.1" }
        let ping = GRPCPair.bytes(GRPCPair.ping, on: .rootStream, Array(repeating: 7, count: 8))
        for number in 0..<2 {
            let pair = try GRPCPair(TestCalls(), addressRates: rates)
            for _ in 0..<10 {
                let id = try pair.call("/stream")
                try pair.write(id, .rstStream(.cancel))
                pair.receive(ping)
            }
            let isPaused = pair.server.options.contains {
                $0.option is ChannelOptions.Types.AutoReadOption && $0.value as? Bool == false
            }
            #expect(isPaused == (number == 1), "20 of 30 the first time, 40 the second")
        }
    }

    @Test func messagesOfACallCountForTheAddressThatTheApplicationNames() throws {
        let rates = AddressRates(perSecond: 10, burst: 5) { _ in true }
        let calls = TestCalls()
        calls.rates = rates
        for number in 0..<2 {
            let pair = try GRPCPair(calls)
            let id = try pair.call("/stream")
            for number in 1...20 { try pair.send("\(number)", on: id) }
            #expect(calls.streams[number].events.count == (number == 0 ? 6 : 0))
            // Its loop has a clock of its own.
            try pair.pass(seconds: number == 0 ? 1 : 3)
            #expect(calls.streams[number].events.count > (number == 0 ? 6 : 0))
        }
    }

    @Test func pingsAtTheirRateAreAnsweredForEver() throws {
        var configuration = GRPCPair.unhurried
        configuration.controlFramesPerSecond = 40
        let pair = try GRPCPair(TestCalls(), configuration)
        let ping = GRPCPair.bytes(GRPCPair.ping, on: .rootStream, Array(repeating: 7, count: 8))
        // NIO's client accepts 200 answers in 30 s.
        for _ in 0..<4 {
            for _ in 0..<45 { pair.receive(ping) }
            try pair.pass(seconds: 1)
        }
        #expect(pair.goAways.isEmpty && pair.cutOffCount == 0)
    }
}
