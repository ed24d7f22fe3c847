import NIOCore
import Synchronization
import Testing

@testable import HTTPServer

/// Responses that take long, during which a connection has no parser.
@Suite(.timeLimit(.minutes(1))) struct LongResponseTests {
    private static func hasParser(_ exchange: HTTPExchange?) throws -> Bool? {
        let exchange = try #require(exchange)
        return try exchange.eventLoop.submit {
            (exchange.transport.owner as? HTTP1Handler).map { $0.decoder != nil }
        }.wait()
    }

    @Test(arguments: [
        "GET /open HTTP/1.1\r\nHost: t\r\n\r\n", "POST /open HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\n\r\n{}",
    ])
    func aStreamHasNoParserUntilAnotherRequestBegins(_ request: String) async throws {
        try await withServer { port, application, _ in
            let client = try RawClient(port: port)
            for round in 1...2 {
                client.send(request)
                #expect(application.events.next() == "open")
                let exchange = application.held.withLock { $0 }
                while try Self.hasParser(exchange) == true {}
                // The first one arrives during the stream, in two parts.
                if round == 1 {
                    client.send("GET /echo?n=1 HTTP/1.1\r\nHo")
                    while try Self.hasParser(exchange) == false {}
                    client.send("st: t\r\n\r\n")
                }
                exchange?.end()
                #expect(try client.response().body == "begun")
                if round == 2 { client.get("/echo?n=2") }
                #expect(try client.response().body == "GET /echo [n=\(round)] ")
            }
        }
    }

    @Test func aStreamBehindWhichARequestHasComeKeepsItsParser() async throws {
        try await withServer { port, application, _ in
            let client = try RawClient(port: port)
            client.send("GET /open HTTP/1.1\r\nHost: t\r\n\r\nGET /echo?n=1 HTTP/1.1\r\n")
            #expect(application.events.next() == "open")
            let exchange = application.held.withLock { $0 }
            #expect(try Self.hasParser(exchange) == true)
            exchange?.end()
            #expect(try client.response().body == "begun")
            client.send("Host: t\r\n\r\n")
            #expect(try client.response().body == "GET /echo [n=1] ")
        }
    }

    /// The suite's time limit is shorter than the grace.
    @Test func aServerDoesNotWaitForAStreamThatItMayAbandon() async throws {
        var client: RawClient?
        try await withServer(graceMs: 600_000) { port, application, _ in
            client = try RawClient(port: port)
            client?.get("/open")
            #expect(application.events.next() == "open")
            let exchange = try #require(application.held.withLock { $0 })
            try exchange.eventLoop.submit { exchange.isAbandonedAtEnd = true }.wait()
        }
        withExtendedLifetime(client) {}
    }

    @Test func aClientThatLeavesDuringAStreamIsNoticed() async throws {
        try await withServer { port, application, _ in
            let client = try RawClient(port: port)
            client.get("/open")
            #expect(application.events.next() == "open")
            let exchange = try #require(application.held.withLock { $0 })
            while try Self.hasParser(exchange) == true {}
            let events = application.events
            exchange.onClose { events.add("gone") }
            client.reset()
            #expect(events.next() == "gone")
        }
    }

    /// The handler asks for it while it is being made.
    @Test func aWebSocketIsWokenOnce() async throws {
        try await withServer({ $0.idleTimeoutMs = 200 }) { port, _, _ in
            let client = try RawClient(port: port)
            _ = try client.openWebSocket("/ws-woken")
            #expect(String(decoding: try client.frame().payload, as: UTF8.self) == "woken")
            client.sendText("echo")
            #expect(String(decoding: try client.frame().payload, as: UTF8.self) == "echo")
        }
    }

    @Test func keepAlivesEndWithTheirStream() async throws {
        try await withServer({ $0.idleTimeoutMs = 200 }) { port, _, _ in
            let client = try RawClient(port: port)
            client.get("/ticks")
            #expect(try client.response().body == "tick tick tick ")
            client.get("/echo")
            #expect(try client.response().body == "GET /echo [] ")
        }
    }
}
