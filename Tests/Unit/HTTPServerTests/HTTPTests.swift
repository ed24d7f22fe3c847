import HTTPServer
import NIOCore
import Synchronization
import Testing

@Suite(.serialized) struct HTTPTests {
    @Test func answersAndKeepsAlive() async throws {
        try await withServer { port, _, server in
            let client = try RawClient(port: port)
            for number in 1...3 {
                client.get("/echo?a=1%202&b=x+y&c&n=\(number)")
                let response = try client.response()
                #expect(response.status == 200)
                #expect(response.body == "GET /echo [a=1 2,b=x y,c=,n=\(number)] ")
                #expect(response.has("content-type: text/plain"))
                #expect(!response.has("connection: close"))
            }
            #expect(server.counters.requestsTotal == 3)
            #expect(server.counters.connectionsTotal == 1)
        }
    }

    @Test func readsBodiesByLengthAndInChunks() async throws {
        try await withServer { port, _, _ in
            let client = try RawClient(port: port)
            client.send("POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n\r\nhe")
            client.send("llo")
            #expect(try client.response().body == "POST /echo [] hello")
            client.send("POST /echo HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
            client.send("2\r\nde\r\n0\r\n\r\n")
            #expect(try client.response().body == "POST /echo [] abcde")
        }
    }

    @Test func answersPipelinedRequestsInOrder() async throws {
        try await withServer { port, _, _ in
            let client = try RawClient(port: port)
            var requests = ""
            for number in 1...200 {
                let path = number % 3 == 0 ? "later?text=\(number)" : "echo?n=\(number)"
                requests += "GET /\(path) HTTP/1.1\r\nHost: t\r\n\r\n"
            }
            client.send(requests)
            for number in 1...200 {
                let body = try client.response().body
                #expect(body == (number % 3 == 0 ? "\(number)" : "GET /echo [n=\(number)] "))
            }
        }
    }

    /// RFC 9112 §3.2: empty where the target has no authority.
    @Test func hostMayBeEmpty() async throws {
        try await withServer { port, _, _ in
            let client = try RawClient(port: port)
            client.send("GET /echo HTTP/1.1\r\nHost:\r\n\r\n")
            #expect(try client.response().status == 200)
        }
    }

    /// An upgrade that the application declines: what came behind the request, before and after its answer, is read on.
    @Test func behindAnOfferedUpgradeThatIsAnsweredLater() async throws {
        try await withServer { port, application, _ in
            let client = try RawClient(port: port)
            client.send("GET /open HTTP/1.1\r\nHost: t\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n")
            #expect(application.events.next() == "open")
            client.get("/echo?n=1")
            application.held.withLock { $0 }?.end()
            #expect(try client.response().body == "begun")
            #expect(try client.response().body == "GET /echo [n=1] ")
            client.get("/echo?n=2")
            #expect(try client.response().body == "GET /echo [n=2] ")
        }
    }

    /// While a request is answered, a client that pipelines without end is not read without end; what it got rid of is
    /// answered in order.
    @Test func pipeliningIsHeldBackWhileARequestIsAnswered() async throws {
        try await withServer { port, application, _ in
            let client = try RawClient(port: port, sendBufferBytes: 64 * 1024)
            client.get("/open")
            #expect(application.events.next() == "open")
            client.giveUpSending(afterMs: 300)
            let request = "GET /echo HTTP/1.1\r\nHost: t\r\nx-filler: \(String(repeating: "f", count: 4_000))\r\n\r\n"
            let flood = Array(String(repeating: request, count: 10_000).utf8)
            let taken = client.send(flood)
            #expect(taken < flood.count, "all of it was read")
            application.held.withLock { $0 }?.end()
            #expect(try client.response().body == "begun")
            for _ in 0..<(taken / request.utf8.count) {
                #expect(try client.response().body == "GET /echo [] ")
            }
        }
    }

    @Test func streamsInChunks() async throws {
        try await withServer { port, _, _ in
            let client = try RawClient(port: port)
            client.get("/stream")
            let response = try client.response()
            #expect(response.has("transfer-encoding: chunked"))
            #expect(response.body == "data: 1\n\ndata: 2\n\ndata: 3\n\n")
            client.get("/echo")
            #expect(try client.response().status == 200)
        }
    }

    @Test func streamsToHTTP10UntilTheEnd() async throws {
        try await withServer { port, _, _ in
            let client = try RawClient(port: port)
            client.send("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            let all = try client.restText()
            #expect(all.hasSuffix("\r\n\r\ndata: 1\n\ndata: 2\n\ndata: 3\n\n"))
            #expect(all.contains("Connection: close\r\n"))
        }
    }

    @Test func headHasNoBody() async throws {
        try await withServer { port, _, _ in
            let client = try RawClient(port: port)
            client.send("HEAD /big?bytes=10 HTTP/1.1\r\nHost: t\r\n\r\n")
            #expect(try client.response(toHead: true).has("content-length: 10"))
            client.send("HEAD /stream HTTP/1.1\r\nHost: t\r\n\r\n")
            #expect(try client.response(toHead: true).status == 200)
            client.get("/not-modified")
            let notModified = try client.response()
            #expect(notModified.status == 304 && !notModified.has("content-length: 16"))
            client.get("/echo")
            #expect(try client.response().body == "GET /echo [] ")
        }
    }

    @Test func closesWhenTheClientAsks() async throws {
        try await withServer { port, _, _ in
            for request in ["GET /echo HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n", "GET /echo HTTP/1.0\r\n\r\n"]
            {
                let client = try RawClient(port: port)
                client.send(request)
                let all = try client.restText()
                #expect(all.hasSuffix("GET /echo [] ") && all.contains("Connection: close\r\n"))
            }
        }
    }

    @Test func sendsContinueWhenAskedTo() async throws {
        try await withServer { port, _, _ in
            let client = try RawClient(port: port)
            client.send("POST /echo HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
            #expect(try client.text(through: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
            client.send("ok")
            #expect(try client.response().body == "POST /echo [] ok")
            client.send("POST /echo HTTP/1.1\r\nHost: t\r\nExpect: magic\r\nContent-Length: 2\r\n\r\n")
            #expect(try client.response().status == 417)
        }
    }

    @Test func noticesThatAClientWentAway() async throws {
        try await withServer { port, application, server in
            let client = try RawClient(port: port)
            client.get("/hold")
            #expect(application.events.next() == "holding")
            client.reset()
            #expect(application.events.next() == "gone, closed true")
        }
    }

    @Test func sendsLargeAnswersToASlowReader() async throws {
        try await withServer { port, _, _ in
            let client = try RawClient(port: port, receiveBufferBytes: 4096)
            client.get("/big?bytes=3000000")
            client.get("/echo?after")
            let response = try client.response()
            #expect(response.body.utf8.count == 3_000_000 && response.body.utf8.allSatisfy { $0 == UInt8(ascii: "b") })
            #expect(try client.response().body == "GET /echo [after=] ")
        }
    }

    @Test func aStreamFollowsItsReader() async throws {
        try await withServer({ $0.kernelSendBufferBytes = 16_384 }) { port, application, _ in
            let client = try RawClient(port: port, receiveBufferBytes: 4096)
            client.get("/drip")
            #expect(application.events.next() == "held back")
            #expect(try client.response().body.utf8.count == 5_000_000)
        }
    }

    @Test func anUnknownUpgradeIsIgnored() async throws {
        try await withServer { port, _, _ in
            let client = try RawClient(port: port)
            let upgrade = "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk\r\n"
            client.get("/echo?1", headers: upgrade)
            client.get("/later?text=2", headers: upgrade)
            client.get("/echo?3")
            #expect(try client.response().body == "GET /echo [1=] ")
            #expect(try client.response().body == "2")
            #expect(try client.response().body == "GET /echo [3=] ")
        }
    }

    @Test func shutdownFinishesAnswersInFlight() async throws {
        var client: RawClient?
        var idle: RawClient?
        try await withServer(graceMs: 5_000) { port, application, server in
            idle = try RawClient(port: port)
            idle?.get("/echo")
            #expect(try idle?.response().status == 200)
            client = try RawClient(port: port)
            client?.send("POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
            #expect(try client?.text(through: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
            client?.send("ok")
        }
        let response = try #require(client).response()
        #expect(response.status == 200)
        #expect(try idle?.rest() == [])
    }

    /// The answer began before the drain, so its head has promised to keep the connection.
    @Test func anAnswerThatEndsInADrainIsTheLastOfItsConnection() async throws {
        try await withServer { port, application, server in
            let client = try RawClient(port: port)
            client.get("/open")
            #expect(application.events.next() == "open")
            server.beginDraining()
            application.held.withLock { $0 }?.end()
            let rest = String(decoding: try client.rest(), as: UTF8.self)
            #expect(rest.hasPrefix("HTTP/1.1 200") && !rest.lowercased().contains("connection: close"))
            #expect(rest.hasSuffix("begun\r\n0\r\n\r\n"))
            let other = try RawClient(port: port)
            other.get("/echo")
            #expect(try other.response().head.lowercased().contains("connection: close"))
        }
    }

    @Test func http2PrefaceGoesToItsHandler() async throws {
        let http2: HTTP2Setup = { channel, server in
            try channel.pipeline.syncOperations.addHandler(ByteEcho())
            server.countCutOff()
        }
        try await withServer(http2: http2) { port, _, server in
            let client = try RawClient(port: port)
            client.send("PRI * HTTP/2.0\r\n\r")
            client.send("\nSM\r\n\r\nabc")
            #expect(try client.bytes(27) == Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nabc".utf8))
            client.send("def")
            #expect(try client.bytes(3) == Array("def".utf8))
            #expect(server.counters.peersCutOffTotal == 1)
            let other = try RawClient(port: port)
            other.get("/echo")
            #expect(try other.response().status == 200)
        }
    }

    @Test func responsesPassThroughHandlersBelow() async throws {
        try await withServer(tls: { [Passing()] }) { port, _, _ in
            let client = try RawClient(port: port)
            client.get("/echo")
            #expect(try client.response().body == "GET /echo [] ")
            try client.openWebSocket()
            client.sendText("hi")
            #expect(try client.frame().text == "hi")
        }
    }
}

private final class ByteEcho: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    func channelRead(context: ChannelHandlerContext, data: NIOAny) { context.writeAndFlush(data, promise: nil) }
}

private final class Passing: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
}
