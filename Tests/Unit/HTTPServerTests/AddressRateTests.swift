import NIOCore
import NIOEmbedded
import Pacing
import Synchronization
import Testing

@testable import HTTPServer

/// The rate of an address over all of its connections.
@Suite(.serialized) struct AddressRateTests {
    private func rates(perSecond: Int, burst: Int) -> AddressRates {
        AddressRates(perSecond: perSecond, burst: burst) { $0 != "shared" }
    }

    private func throttle(_ address: String, _ rates: AddressRates, on loop: EmbeddedEventLoop) -> InputThrottle {
        let throttle = InputThrottle(perSecond: 0, burst: 1, on: loop)
        throttle.count(for: rates.rate(of: address, on: loop))
        return throttle
    }

    @Test func reconnectingBringsNoFreshBurst() {
        let (loop, rates) = (EmbeddedEventLoop(), rates(perSecond: 100, burst: 200))
        var within = 0
        for _ in 0..<10 {
            let throttle = throttle("a", rates, on: loop)
            if throttle.begin() { within += (0..<100).filter { _ in throttle.arrived() == .within }.count }
            throttle.cancel()
        }
        #expect(within == 200)
        let other = throttle("b", rates, on: loop)
        #expect(other.begin() && other.arrived() == .within)
        other.cancel()
    }

    @Test func connectionsOfAnAddressGoOnAtItsRateTogether() {
        let (loop, rates) = (EmbeddedEventLoop(), rates(perSecond: 100, burst: 100))
        let throttles = (0..<4).map { _ in throttle("a", rates, on: loop) }
        var count = 0
        /// Sends as long as it may, and again after each pause.
        func send(_ throttle: InputThrottle) {
            while throttle.arrived() == .within { count += 1 }
            count += 1
            throttle.pause { send(throttle) }
        }
        for throttle in throttles { send(throttle) }
        #expect(count == 100 + 4)
        loop.advanceTime(by: .seconds(10))
        #expect((950...1_104).contains(count), "\(count)")
        for throttle in throttles { throttle.cancel() }
    }

    @Test func answersAndAddressesOfManyClientsDoNotCount() {
        let (loop, rates) = (EmbeddedEventLoop(), rates(perSecond: 1, burst: 3))
        let one = throttle("a", rates, on: loop)
        for _ in 0..<100 { #expect(one.arrived(isAnswer: true) == .within) }
        #expect((0..<4).map { _ in one.arrived() } == [.within, .within, .within, .over])
        one.cancel()
        let shared = throttle("shared", rates, on: loop)
        for _ in 0..<100 { #expect(shared.begin() && shared.arrived() == .within) }
        #expect(AddressRates(perSecond: 0, burst: 1) { _ in true }.rate(of: "a", on: loop) == nil)
    }

    @Test func floodOnASecondWebSocketIsReadAtTheRateOfTheAddress() async throws {
        let rates = rates(perSecond: 20, burst: 50)
        try await withServer { port, application, _ in
            application.rates.withLock { $0 = rates }
            for _ in 0..<2 {
                let flood = try RawClient(port: port)
                try flood.openWebSocket("/ws-counted", headers: "X-Address: 192.0.2.1\r\n")
                flood.send((0..<40).flatMap { _ in RawClient.frame(0x89, []) })
                for _ in 0..<5 { #expect(try flood.frame().first == 0x8A) }
                flood.reset()
            }
            // Another one of the address waits for the debt to be paid; others do not.
            let late = try RawClient(port: port)
            try late.openWebSocket("/ws-counted", headers: "X-Address: 192.0.2.1\r\n")
            late.sendText("late")
            let other = try RawClient(port: port)
            try other.openWebSocket("/ws-counted", headers: "X-Address: 192.0.2.2\r\n")
            other.sendText("other")
            #expect(try other.frame().text == "other")
            #expect(rates.begin("192.0.2.1", nowMs: Int64(NIODeadline.now().uptimeNanoseconds / 1_000_000)) > 0)
            #expect(try late.frame().text == "late")
        }
    }

    @Test func peersCountForTheirSubjects() {
        let subjects = AddressSubjects(
            peer: { $0 == "proxy" ? nil : String($0.prefix(3)) }, client: { address, _ in address })
        let rates = AddressRates(perSecond: 1, burst: 2, isCounted: { _ in true }, subjects: subjects)
        let loop = EmbeddedEventLoop()
        #expect(["net1", "net2"].map { rates.begin($0, nowMs: 0) } == [0, 0])
        #expect(rates.begin("net3", nowMs: 0) > 0 && rates.begin("other", nowMs: 0) == 0)
        #expect(rates.rate(ofPeer: "net4", on: loop) === rates.rate(of: "net", on: loop))
        #expect(rates.begin("proxy", nowMs: 0) == 0 && rates.rate(ofPeer: "proxy", on: loop) == nil)
    }

    @Test func newConnectionCountsAsAMessageAndIsReadLater() async throws {
        let rates = AddressRates(perSecond: 10, burst: 2) { $0 == "127.0.0.1" }
        try await withServer({ $0.headerTimeoutMs = 1_000 }, addressRates: rates) { port, _, _ in
            for _ in 0..<2 {
                let client = try RawClient(port: port)
                client.get("/echo")
                #expect(try client.response().status == 200)
            }
            let soon = try RawClient(port: port)
            soon.get("/echo")
            #expect(try soon.response().status == 200, "a token in 100 ms")
            // Clients that would wait for longer than a header may take are refused.
            let clients = try (0..<20).map { _ in try RawClient(port: port) }
            for client in clients { client.get("/echo") }
            let answers = try clients.map { try $0.response().status }
            #expect(answers.contains(503) && Set(answers).isSubset(of: [200, 503]), "\(answers)")
        }
    }
}
