import HTTPServer
import NIOCore
import Testing

/// Clients that close their side of the connection behind a request (`printf … | nc -N`): what they asked for is
/// answered, and nothing waits for them any longer.
@Suite(.serialized) struct HalfCloseTests {
    @Test func everythingAskedForIsAnsweredAndThenTheConnectionEnds() async throws {
        try await withServer { port, _, server in
            let client = try RawClient(port: port)
            client.get("/later?text=one")
            client.get("/echo?two")
            client.get("/big?bytes=3000000")
            client.get("/later?text=four")
            client.shutdownWrite()
            #expect(try client.response().body == "one")
            #expect(try client.response().body == "GET /echo [two=] ")
            #expect(try client.response().body.utf8.count == 3_000_000)
            #expect(try client.response().body == "four")
            #expect(try client.rest() == [])
            let other = try RawClient(port: port)
            other.get("/echo")
            _ = try other.response()
            #expect(server.counters.connectionsOpen == 1)
        }
    }

    @Test(arguments: [
        ("POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n\r\nhello", 200),
        ("POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n\r\nhel", 400), ("GET /echo HT", 400),
    ])
    func aRequestIsAnsweredWhenItIsWhole(_ request: String, _ status: Int) async throws {
        try await withServer { port, _, _ in
            let client = try RawClient(port: port)
            client.send(request)
            client.shutdownWrite()
            let response = try client.response()
            #expect(response.status == status)
            #expect(status != 200 || response.body == "POST /echo [] hello")
            #expect(try client.rest() == [])
        }
    }

    @Test func silentConnectionsEndAtOnce() async throws {
        try await withServer { port, _, _ in
            let client = try RawClient(port: port)
            client.get("/echo")
            _ = try client.response()
            client.shutdownWrite()
            #expect(try client.rest() == [])
            let fresh = try RawClient(port: port)
            fresh.shutdownWrite()
            #expect(try fresh.rest() == [])
        }
    }

    @Test func waitingResponsesAreSentAfterAHalfClose() async throws {
        try await withServer { port, application, _ in
            let client = try RawClient(port: port)
            client.get("/wait")
            #expect(application.events.next() == "waiting")
            client.shutdownWrite()
            #expect(try client.response().body == "waited")
            #expect(try client.rest() == [])
            let sooner = try RawClient(port: port)
            sooner.get("/wait")
            sooner.shutdownWrite()
            #expect(try sooner.response().body == "waited")
            #expect(try sooner.rest() == [])
        }
    }

    @Test func streamsAndWebSocketsAreOver() async throws {
        try await withServer { port, application, server in
            let stream = try RawClient(port: port)
            stream.get("/open")
            #expect(application.events.next() == "open")
            stream.shutdownWrite()
            #expect(try stream.restText().hasSuffix("begun\r\n"), "no end that a client could take for one")
            let socket = try RawClient(port: port)
            try socket.openWebSocket()
            socket.sendText("last")
            socket.shutdownWrite()
            #expect(try socket.frame().text == "last")
            #expect(try socket.rest() == [])
            #expect(application.events.next() == "closed nil")
            #expect(server.counters.webSocketsOpen == 0)
        }
    }

    /// Behind the one that is being answered.
    @Test(arguments: [(8, true), (9, false)])
    func aFloodBeforeTheEndIsCutOff(_ count: Int, _ isTaken: Bool) async throws {
        try await withServer {
            $0.pipelinedMax = 8
        } _: { port, application, _ in
            let client = try RawClient(port: port)
            client.get(isTaken ? "/wait" : "/hold")
            #expect(application.events.next() == (isTaken ? "waiting" : "holding"))
            client.send(String(repeating: "GET /echo HTTP/1.1\r\nHost: t\r\n\r\n", count: count))
            client.shutdownWrite()
            if isTaken {
                #expect(try client.response().body == "waited")
                for _ in 0..<count { #expect(try client.response().body == "GET /echo [] ") }
            } else {
                #expect(application.events.next() == "gone, closed true")
            }
            #expect(try client.rest() == [])
        }
    }
}
