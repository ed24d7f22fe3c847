import HTTPServer
import NIOCore
import Synchronization
import Testing

@Suite(.serialized) struct WebSocketTests {
    @Test func opensAndEchoes() async throws {
        try await withServer { port, application, server in
            let client = try RawClient(port: port)
            let head = try client.openWebSocket()
            // The example of RFC 6455 section 1.3.
            #expect(head.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"))
            #expect(head.lowercased().contains("connection: upgrade\r\n") && head.contains("Upgrade: websocket\r\n"))
            client.sendText("Grüße")
            #expect(try client.frame() == RawFrame(first: 0x81, payload: Array("Grüße".utf8)))
            client.sendFrame(0x82, [0, 255, 1])
            #expect(try client.frame() == RawFrame(first: 0x82, payload: [0, 255, 1]))
            for size in [125, 126, 65_535, 65_536, 200_000] {
                let payload = (0..<size).map { UInt8($0 % 97) }
                client.sendFrame(0x82, payload)
                #expect(try client.frame() == RawFrame(first: 0x82, payload: payload))
            }
            client.sendFrame(0x81)
            #expect(try client.frame() == RawFrame(first: 0x81, payload: []))
            #expect(server.counters.webSocketsOpen == 1)
            client.reset()
            #expect(application.events.next() == "closed nil")
            #expect(server.counters.webSocketsOpen == 0)
        }
    }

    @Test func framesRightBehindTheHandshake() async throws {
        try await withServer { port, _, _ in
            let client = try RawClient(port: port)
            client.send(
                Array("GET /later?text=x HTTP/1.1\r\nHost: t\r\n\r\n".utf8)
                    + Array("GET /ws-greeting HTTP/1.1\r\nHost: t\r\n\(RawClient.webSocketHeaders)\r\n".utf8)
                    + RawClient.frame(0x81, Array("first".utf8)) + RawClient.frame(0x81, Array("second".utf8)))
            #expect(try client.response().body == "x")
            #expect(try client.text(through: "\r\n\r\n").hasPrefix("HTTP/1.1 101 "))
            for text in ["hello", "first", "second"] { #expect(try client.frame().text == text) }
            client.sendText("third")
            #expect(try client.frame().text == "third")
        }
    }

    @Test func framesMayArriveByteByByte() async throws {
        try await withServer { port, _, _ in
            let client = try RawClient(port: port)
            try client.openWebSocket()
            for byte in RawClient.frame(0x81, Array(String(repeating: "x", count: 300).utf8)) { client.send([byte]) }
            #expect(try client.frame().payload.count == 300)
        }
    }

    @Test func choosesASubprotocol() async throws {
        try await withServer { port, _, _ in
            let client = try RawClient(port: port)
            let head = try client.openWebSocket(
                "/ws-protocol", headers: "Sec-WebSocket-Protocol: graphql-ws, graphql-transport-ws\r\n")
            #expect(head.contains("Sec-WebSocket-Protocol: graphql-transport-ws\r\n"))
            #expect(head.contains("X-Extra: 1\r\n"))
        }
    }

    @Test func badHandshakesAreRejected() async throws {
        try await withServer { port, _, _ in
            func answer(_ path: String, _ headers: String) throws -> RawResponse {
                let client = try RawClient(port: port)
                client.get(path, headers: headers)
                return try client.response()
            }
            let refused = try answer("/nothing", RawClient.webSocketHeaders)
            #expect(refused.status == 403 && refused.body == "no")
            let old = try answer(
                "/ws", RawClient.webSocketHeaders.replacing("Version: 13", with: "Version: 8"))
            #expect(old.status == 426 && old.has("sec-websocket-version: 13"))
            #expect(try answer("/ws", "Upgrade: websocket\r\nConnection: upgrade\r\n").status == 426)
            #expect(
                try answer("/ws", RawClient.webSocketHeaders.replacing("dGhlIHNhbXBsZSBub25jZQ==", with: "c2hvcnQ="))
                    .status == 400)
            // Without the upgrade it is a plain request.
            #expect(try answer("/ws", "").status == 404)
        }
    }

    @Test func fragmentsWithControlFramesBetween() async throws {
        try await withServer { port, _, _ in
            let client = try RawClient(port: port)
            try client.openWebSocket()
            // "ü" is cut in two: only the whole message is checked.
            client.sendFrame(0x01, Array("gr".utf8) + [0xC3])
            client.sendFrame(0x89, Array("ping".utf8))
            client.sendFrame(0x00, [0xBC])
            client.sendFrame(0x8A, Array("unasked pong".utf8))
            client.sendFrame(0x80, Array("n".utf8))
            #expect(try client.frame() == RawFrame(first: 0x8A, payload: Array("ping".utf8)))
            #expect(try client.frame() == RawFrame(first: 0x81, payload: Array("grün".utf8)))
            client.sendText("next")
            #expect(try client.frame().text == "next")
        }
    }

    /// Frames, and the close code that answers them.
    static let violations: [(String, [UInt8], Int)] = [
        ("not masked", RawClient.frame(0x81, [65], masked: false), 1002),
        ("control frame not masked", RawClient.frame(0x89, [], masked: false), 1002),
        ("reserved bit", RawClient.frame(0xC1, [65]), 1002),
        ("reserved opcode", RawClient.frame(0x83, [65]), 1002),
        ("reserved control opcode", RawClient.frame(0x8B, []), 1002),
        ("continuation of nothing", RawClient.frame(0x80, [65]), 1002),
        ("new message inside one", RawClient.frame(0x01, [65]) + RawClient.frame(0x81, [65]), 1002),
        ("fragmented ping", RawClient.frame(0x09, []), 1002),
        ("long ping", RawClient.frame(0x89, Array(repeating: 65, count: 126)), 1002),
        ("not UTF-8", RawClient.frame(0x81, [0xFF]), 1007),
        ("half a character", RawClient.frame(0x81, [0xC3]), 1007),
        ("surrogate", RawClient.frame(0x81, [0xED, 0xA0, 0x80]), 1007),
        ("not UTF-8 in fragments", RawClient.frame(0x01, [0xC3]) + RawClient.frame(0x80, [65]), 1007),
        ("too large", RawClient.frame(0x81, Array(repeating: 65, count: 1001)), 1009),
        ("claims to be huge", Array(RawClient.frame(0x82, [], declaredLength: 1 << 62)), 1009),
        ("beyond 63 bits", Array(RawClient.frame(0x82, [], declaredLength: .max)), 1009),
        (
            "too large in fragments",
            RawClient.frame(0x01, Array(repeating: 65, count: 600))
                + RawClient.frame(0x80, Array(repeating: 65, count: 600)),
            1009
        ),
        (
            "empty fragments without end",
            RawClient.frame(0x01, []) + Array((0..<4_096).map { _ in RawClient.frame(0x00, []) }.joined()), 1009
        ),
        ("close with one byte", RawClient.frame(0x88, [3]), 1002),
        ("close with a reserved code", RawClient.frame(0x88, [3, 237]), 1002),
        ("close below 1000", RawClient.frame(0x88, [0, 1]), 1002),
        ("close with a bad reason", RawClient.frame(0x88, [3, 232, 0xFF]), 1007),
    ]

    @Test(arguments: violations)
    func violationsCloseWithTheirCode(_ name: String, _ bytes: [UInt8], _ code: Int) async throws {
        try await withServer({ $0.webSocketFrameBytesMax = 1000 }) { port, application, server in
            let neighbour = try RawClient(port: port)
            try neighbour.openWebSocket()
            let client = try RawClient(port: port)
            try client.openWebSocket()
            client.send(bytes)
            client.sendText("not heard any more")
            #expect(try client.frame().closeCode == code)
            #expect(try client.rest() == [])
            #expect(application.events.next() == "closed \(code)")
            neighbour.sendText("unharmed")
            #expect(try neighbour.frame().text == "unharmed")
            #expect(server.counters.peerErrorsTotal == 1)
        }
    }

    @Test(arguments: [(1000, "closed 1000"), (1001, "closed 1001"), (4400, "closed 4400")])
    func closesOfTheClientAreEchoed(_ code: Int, _ event: String) async throws {
        try await withServer { port, application, _ in
            let client = try RawClient(port: port)
            try client.openWebSocket()
            client.sendFrame(0x88, [UInt8(code >> 8), UInt8(code & 0xFF)] + Array("bye".utf8))
            #expect(try client.frame().closeCode == code)
            #expect(try client.rest() == [])
            #expect(application.events.next() == event)
        }
    }

    @Test func clientClosesWithoutACode() async throws {
        try await withServer { port, application, _ in
            let client = try RawClient(port: port)
            try client.openWebSocket()
            client.sendFrame(0x88)
            #expect(try client.frame().closeCode == 1000)
            #expect(try client.rest() == [])
            #expect(application.events.next() == "closed 1005")
        }
    }

    @Test func closesOfTheServerWaitForTheEcho() async throws {
        try await withServer { port, application, _ in
            let client = try RawClient(port: port)
            try client.openWebSocket()
            client.sendText("close")
            let close = try client.frame()
            #expect(close.closeCode == 4001)
            #expect(String(decoding: close.payload.dropFirst(2), as: UTF8.self) == "requested")
            client.sendText("too late")
            client.sendFrame(0x88, [0x0F, 0xA1])
            #expect(try client.rest() == [])
            #expect(application.events.next() == "closed 4001")
        }
    }

    @Test func serverDoesNotWaitForeverForAClose() async throws {
        try await withServer({ $0.webSocketCloseTimeoutMs = 40 }) { port, application, _ in
            let client = try RawClient(port: port)
            try client.openWebSocket()
            client.sendText("close")
            #expect(try client.frame().closeCode == 4001)
            #expect(try client.rest() == [])
            #expect(application.events.next() == "closed nil")
        }
    }

    @Test func pingsAndFindsHalfOpenConnections() async throws {
        try await withServer({
            $0.webSocketPingIntervalMs = 60
            $0.webSocketPongTimeoutMs = 60
        }) { port, application, server in
            let alive = try RawClient(port: port)
            try alive.openWebSocket()
            for _ in 0..<4 {
                #expect(try alive.frame() == RawFrame(first: 0x89, payload: []))
                alive.sendFrame(0x8A)
            }
            let gone = try RawClient(port: port)
            try gone.openWebSocket()
            #expect(try gone.frame().first == 0x89)
            #expect(try gone.rest() == [])
            #expect(application.events.next() == "closed nil")
            #expect(server.counters.peersCutOffTotal >= 1)
        }
    }

    /// The direct way ends at the first byte that the kernel does not take; nothing may be lost, doubled or overtaken
    /// where it continues through NIO and where it is direct again.
    @Test func aSlowReaderGetsEveryByteInOrder() async throws {
        try await withServer({ $0.kernelSendBufferBytes = 16_384 }) { port, application, _ in
            let client = try RawClient(port: port, receiveBufferBytes: 4096)
            try client.openWebSocket()
            for _ in 0..<2 {
                client.sendText("flood")
                #expect(application.events.next() == "held back")
                client.sendText("after")
                for number in 0..<SlowClientFlood.messages {
                    let frame = try client.frame()
                    guard frame == SlowClientFlood.expected(number) else {
                        Issue.record("message \(number) arrived as \(frame.text.prefix(60))")
                        return
                    }
                }
                #expect(try client.frame().text == "after")
                #expect(application.events.next() == "drained")
            }
        }
    }

    @Test func aReaderThatStopsIsCutOffAtTheBound() async throws {
        try await withServer({
            $0.pendingBytesMax = 100_000
            $0.kernelSendBufferBytes = 16_384
        }) { port, application, server in
            let client = try RawClient(port: port, receiveBufferBytes: 4096)
            try client.openWebSocket()
            client.sendText("flood")
            #expect(application.events.next().hasPrefix("not held back"))
            #expect(application.events.next() == "closed nil")
            #expect(server.counters.peersCutOffTotal == 1)
        }
    }

    @Test func aPingFloodIsNotReadOnWhileAnswersWait() async throws {
        try await withServer({
            $0.webSocketReadPauseBytes = 1000
            $0.kernelSendBufferBytes = 16_384
            $0.pendingBytesMax = 1_000_000
        }) { port, _, server in
            let client = try RawClient(port: port, receiveBufferBytes: 4096)
            try client.openWebSocket()
            let ping = RawClient.frame(0x89, Array(repeating: 7, count: 125))
            let count = 4000
            client.send((0..<count).flatMap { _ in ping })
            for _ in 0..<count { #expect(try client.frame().payload.count == 125) }
            #expect(server.counters.peersCutOffTotal == 0)
        }
    }

    /// The memory that frames are gathered in belongs to the loop: connections must not see each other's bytes.
    @Test func gatheringsOfTwoConnectionsDoNotMix() async throws {
        try await withServer { port, _, _ in
            let b = try RawClient(port: port)
            try b.openWebSocket()
            b.sendText("pause")
            #expect(try b.frame().text == "paused")
            let a = try RawClient(port: port)
            try a.openWebSocket()
            a.sendText("cross")
            for text in ["a1", "a2", "a" + String(repeating: "3", count: 40_000), "a4"] {
                #expect(try a.frame().text == text)
            }
            for text in ["b1", "b2", "b3"] { #expect(try b.frame().text == text) }
        }
    }

    @Test func readingCanBePaused() async throws {
        try await withServer { port, _, _ in
            let client = try RawClient(port: port, sendBufferBytes: 16_384)
            try client.openWebSocket()
            client.sendText("pause")
            #expect(try client.frame().text == "paused")
            let pong = RawClient.frame(0x8A, Array(repeating: 1, count: 125))
            let pongs = [UInt8]((0..<20_000).map { _ in pong }.joined())
            client.giveUpSending(afterMs: 150)
            let taken = client.send(pongs)
            #expect(taken < pongs.count)
            let connection = try #require(EchoSocket.paused.withLock { $0 })
            connection.eventLoop.execute { connection.isReadingPaused = false }
            client.giveUpSending(afterMs: 5_000)
            #expect(client.send(Array(pongs[taken...])) == pongs.count - taken)
            client.sendText("end")
            #expect(try client.frame().text == "end")
        }
    }

    @Test func aPeerThatSendsTooFastIsReadMoreSlowly() async throws {
        try await withServer({
            $0.webSocketFramesPerSecond = 100
            $0.webSocketFramesBurst = 50
        }) { port, _, server in
            let client = try RawClient(port: port)
            try client.openWebSocket()
            let start = ContinuousClock.now
            // Each one is answered, however long that takes.
            for round in 0..<4 {
                for number in 0..<40 { client.sendFrame(0x89, [UInt8(round), UInt8(number)]) }
                for number in 0..<40 {
                    #expect(try client.frame() == RawFrame(first: 0x8A, payload: [UInt8(round), UInt8(number)]))
                }
            }
            #expect(ContinuousClock.now - start >= .milliseconds(650), "160 frames, 50 and a debt of 40 at once")
            #expect(server.counters.peerErrorsTotal == 0)
        }
    }

    @Test func aFloodIsEndedAndItsNeighbourIsNot() async throws {
        try await withServer({
            $0.webSocketFramesPerSecond = 100
            $0.webSocketFramesBurst = 50
        }) { port, _, _ in
            let neighbour = try RawClient(port: port)
            try neighbour.openWebSocket()
            let flood = try RawClient(port: port)
            try flood.openWebSocket()
            flood.send((0..<2_000).flatMap { _ in RawClient.frame(0x89, []) })
            var frame = try flood.frame()
            while frame.first == 0x8A { frame = try flood.frame() }
            #expect(frame.closeCode == 1008)
            neighbour.sendFrame(0x89, [1])
            #expect(try neighbour.frame() == RawFrame(first: 0x8A, payload: [1]))
        }
    }

    /// Frames and fragments of incomplete messages are counted with the bodies of requests.
    @Test(arguments: [
        Array(RawClient.frame(0x81, Array(repeating: 65, count: 1_000)).dropLast()),
        RawClient.frame(0x01, Array(repeating: 65, count: 900)),
    ])
    func unfinishedMessagesHaveABoundTogether(_ unfinished: [UInt8]) async throws {
        try await withServer({
            $0.webSocketFrameBytesMax = 1_000
            $0.bodiesBytesMax = 1_500
        }) { port, _, _ in
            let first = try RawClient(port: port)
            try first.openWebSocket()
            first.sendFrame(0x01, Array(repeating: 65, count: 800))
            first.sendFrame(0x89)
            #expect(try first.frame().first == 0x8A, "it has been read")
            let second = try RawClient(port: port)
            try second.openWebSocket()
            second.send(unfinished)
            #expect(try second.frame().closeCode == 1013)
            first.sendFrame(0x80, [66])
            #expect(try first.frame().text == String(repeating: "A", count: 800) + "B")
            // Messages that have ended, whole or not, hold no bytes.
            for _ in 0..<3 {
                let next = try RawClient(port: port)
                try next.openWebSocket()
                next.sendFrame(0x01, Array(repeating: 65, count: 900))
                next.sendFrame(0x89)
                #expect(try next.frame().first == 0x8A)
                next.sendFrame(0x88, [3, 232])
                #expect(try next.frame().closeCode == 1000)
            }
        }
    }

    /// A refused message leaves no bytes, and its sender is read for a short time only.
    @Test func inputAfterARefusedMessageIsBounded() async throws {
        try await withServer({
            $0.webSocketFrameBytesMax = 64 << 20
            $0.bodiesBytesMax = 1_500
            $0.linger.bytesMax = 4_096
            $0.linger.timeoutMs = 60_000
        }) { port, _, _ in
            let client = try RawClient(port: port)
            try client.openWebSocket()
            client.send(RawClient.frame(0x82, Array(repeating: 1, count: 2_000), declaredLength: 64 << 20))
            #expect(try client.frame().closeCode == 1013)
            // More than the system's buffers hold: only a server that has closed takes less of it.
            let piece = [UInt8](repeating: 1, count: 1 << 20)
            #expect((0..<32).contains { _ in client.send(piece) < piece.count })
            let next = try RawClient(port: port)
            try next.openWebSocket()
            next.sendFrame(0x82, Array(repeating: 65, count: 1_400))
            #expect(try next.frame().payload.count == 1_400)
        }
    }

    @Test func shutdownSaysGoingAway() async throws {
        var client: RawClient?
        try await withServer(graceMs: 5_000) { port, _, _ in
            client = try RawClient(port: port)
            try client?.openWebSocket()
            let client = client
            Thread.run {
                let close = try? client?.frame()
                if close?.closeCode == 1001 { client?.sendFrame(0x88, [3, 233]) }
            }
        }
        #expect(try client?.rest() == [])
    }
}
