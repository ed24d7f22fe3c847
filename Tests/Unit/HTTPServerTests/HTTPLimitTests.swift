import HTTPServer
import NIOCore
import Testing

/// Answers to peers that exceed limits or violate HTTP; other clients do not notice.
@Suite(.serialized) struct HTTPLimitTests {
    static let malformedRequests: [(String, Int)] = [
        ("NONSENSE\r\n\r\n", 400),
        ("GET /echo\r\n\r\n", 505),
        ("\u{16}\u{3}\u{1}\u{2}hello tls\r\n\r\n", 400),
        ("GET /echo HTTP/1.1\r\n\r\n", 400),
        ("GET /echo HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        ("GET /echo HTTP/1.1\r\nHost:\r\nhost: a\r\n\r\n", 400),
        ("GET /echo HTTP/1.1\r\nHost: a,b\r\n\r\n", 400),
        ("GET /echo HTTP/1.1\r\nHost : a\r\n\r\n", 400),
        ("GET /ec%zzho HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /ec%00ho HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /%ff HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /echo HTTP/1.1\r\nHost: a\r\nbad header\r\n\r\n", 400),
        ("GET /echo HTTP/2.0\r\nHost: a\r\n\r\n", 505),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        ("CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", 405),
        // Request smuggling: two answers to where a body ends.
        ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde", 400),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1x\r\n\r\na", 400),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 400),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
    ]

    @Test(arguments: malformedRequests)
    func malformedRequestsAreRefusedAlone(_ request: String, _ status: Int) async throws {
        try await withServer { port, _, server in
            let neighbour = try RawClient(port: port)
            neighbour.get("/hold")
            let client = try RawClient(port: port)
            client.send(request)
            let response = try client.response()
            #expect(response.status == status)
            let code = try #require(HTTPFailureCodes.byStatus[status])
            #expect(response.body.hasPrefix(#"{"message":""#), "\(response.body)")
            #expect(response.body.contains(#""extensions":{"code":"\#(code)""#), "\(response.body)")
            #expect(response.has("connection: close"))
            #expect(try client.rest() == [])
            let other = try RawClient(port: port)
            other.get("/echo")
            #expect(try other.response().status == 200)
            #expect(server.counters.peerErrorsTotal == 1)
        }
    }

    @Test func answersBeforeAnErrorComeFirst() async throws {
        try await withServer { port, _, _ in
            let client = try RawClient(port: port)
            client.send("GET /later?text=first HTTP/1.1\r\nHost: t\r\n\r\nBROKEN\r\n\r\n")
            #expect(try client.response().body == "first")
            #expect(try client.response().status == 400)
            #expect(try client.rest() == [])
        }
    }

    @Test func targetsThatAreTooLongGet414() async throws {
        try await withServer({ $0.targetBytesMax = 100 }) { port, _, _ in
            for length in [101, 30_000] {
                let client = try RawClient(port: port)
                client.get("/" + String(repeating: "a", count: length))
                #expect(try client.response().status == 414)
            }
        }
    }

    @Test func headersThatAreTooLargeGet431() async throws {
        try await withServer { port, _, _ in
            for header in [
                "X: " + String(repeating: "a", count: 20_000) + "\r\n",
                String(repeating: "X-Many: 1\r\n", count: 200),
                String(repeating: "X-Some: " + String(repeating: "b", count: 400) + "\r\n", count: 60),
            ] {
                let client = try RawClient(port: port)
                client.get("/echo", headers: header)
                #expect(try client.response().status == 431)
                #expect(try client.rest() == [])
            }
        }
    }

    @Test func bodiesThatAreTooLargeGet413() async throws {
        try await withServer({ $0.bodyBytesMax = 1000 }) { port, _, _ in
            let declared = try RawClient(port: port)
            declared.send("POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 1001\r\n\r\n")
            #expect(try declared.response().status == 413)
            let unasked = try RawClient(port: port)
            unasked.send(
                "POST /echo HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 99999999999999999999\r\n\r\n"
            )
            #expect([400, 413].contains(try unasked.response().status))
            let chunked = try RawClient(port: port)
            let chunk = "1f4\r\n" + String(repeating: "c", count: 500) + "\r\n"
            chunked.send("POST /echo HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + chunk)
            chunked.send(chunk + chunk + chunk)
            #expect(try chunked.response().status == 413)
            let exact = try RawClient(port: port)
            exact.send(
                "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 1000\r\n\r\n" + String(repeating: "d", count: 1000))
            #expect(try exact.response().status == 200)
        }
    }

    /// Python's http.client and others write the whole request before they read anything.
    @Test func aClientThatWritesFirstGetsTheRefusal() async throws {
        try await withServer({ $0.bodyBytesMax = 1000 }) { port, _, _ in
            let bytes = 8_000_000
            for framing in ["Content-Length: \(bytes)", "Transfer-Encoding: chunked"] {
                let client = try RawClient(port: port, sendBufferBytes: 16_384)
                client.send("POST /echo HTTP/1.1\r\nHost: t\r\nOrigin: http://page\r\n\(framing)\r\n\r\n")
                if framing.hasPrefix("T") { client.send(String(bytes, radix: 16) + "\r\n") }
                #expect(client.send([UInt8](repeating: 0x78, count: bytes)) == bytes)
                let response = try client.response()
                #expect(response.status == 413 && response.has("x-origin: http://page"))
            }
        }
    }

    @Test func inputAfterARefusalIsBounded() async throws {
        try await withServer({
            $0.bodyBytesMax = 1000
            $0.refusedInput.bytesMax = 1_000_000
        }) { port, _, _ in
            let client = try RawClient(port: port, sendBufferBytes: 16_384)
            client.send("POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 99999999\r\n\r\n")
            #expect(client.send([UInt8](repeating: 0x78, count: 50_000_000)) < 50_000_000)
        }
    }

    @Test func theServersOwnErrorsCarryTheApplicationsHeaders() async throws {
        try await withServer { port, _, _ in
            let client = try RawClient(port: port)
            client.get("/echo", headers: "X: " + String(repeating: "a", count: 20_000) + "\r\n")
            let response = try client.response()
            #expect(response.status == 431 && response.has("x-origin: unknown"))
        }
    }

    @Test(arguments: [
        ("Origin: http://page\r\n", "http://page"),
        ("X: a\r\noRIGIN:\thttp://page \r\nOrigin: http://other\r\n", "http://page"),
        ("X-Origin: http://page\r\n", "unknown"),
    ])
    func aRefusedHeaderIsAnsweredForTheOriginThatWasRead(_ fields: String, origin: String) async throws {
        try await withServer { port, _, _ in
            for (tooMuch, status) in [("X: " + String(repeating: "a", count: 20_000), 431), ("b c: d", 400)] {
                let client = try RawClient(port: port)
                client.get("/echo", headers: "\(fields)\(tooMuch)\r\n")
                let response = try client.response()
                #expect(response.status == status && response.has("x-origin: \(origin)"), "\(response)")
            }
        }
    }

    @Test func anOriginMayArriveInPieces() async throws {
        try await withServer { port, _, _ in
            let client = try RawClient(port: port)
            client.send("GET /echo HTTP/1.1\r\nHost: t\r\nOrig")
            client.send("in: http://page\r\nX: ")
            client.send(String(repeating: "a", count: 20_000))
            let response = try client.response()
            #expect(response.status == 431 && response.has("x-origin: http://page"))
        }
    }

    @Test func aLengthMayHaveBlanksAroundIt() async throws {
        try await withServer { port, _, _ in
            for length in ["2 ", "  2  "] {
                let client = try RawClient(port: port)
                client.send("POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: \(length)\r\n\r\nab")
                let response = try client.response()
                #expect(response.status == 200 && response.body.hasSuffix(" ab"), "\(length)")
            }
        }
    }

    @Test(
        arguments: [
            ("Content-Length: two", 400), ("Content-Length: ", 400), ("Content-Length: 0x2", 400),
            ("Transfer-Encoding: gzip, chunked", 501), ("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked", 501),
            ("Transfer-Encoding: Chunked", 200),
        ])
    func framingThatIsNotSupported(_ header: String, _ status: Int) async throws {
        try await withServer { port, _, _ in
            let client = try RawClient(port: port)
            client.send("POST /echo HTTP/1.1\r\nHost: t\r\n\(header)\r\n\r\n2\r\nab\r\n0\r\n\r\n")
            #expect(try client.response().status == status)
        }
    }

    @Test func slowHeaderTimesOut() async throws {
        try await withServer({ $0.headerTimeoutMs = 60 }) { port, _, _ in
            let silent = try RawClient(port: port)
            let slow = try RawClient(port: port)
            slow.send("GET /echo HTTP/1.1\r\nHo")
            #expect(try slow.response().status == 408)
            #expect(try slow.rest() == [])
            #expect(try silent.rest() == [])
        }
    }

    @Test func slowBodyTimesOut() async throws {
        try await withServer({ $0.bodyTimeoutMs = 60 }) { port, _, _ in
            let client = try RawClient(port: port)
            client.send("POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n\r\nabc")
            #expect(try client.response().status == 408)
        }
    }

    @Test func idleConnectionIsClosedSilently() async throws {
        try await withServer({
            $0.idleTimeoutMs = 60
            $0.headerTimeoutMs = 20_000
        }) { port, _, server in
            let client = try RawClient(port: port)
            client.get("/echo")
            #expect(try client.response().status == 200)
            #expect(try client.rest() == [])
            #expect(server.counters.peerErrorsTotal == 0)
        }
    }

    @Test func aHeldRequestIsNotIdle() async throws {
        try await withServer({
            $0.idleTimeoutMs = 20
            $0.headerTimeoutMs = 20
            $0.bodyTimeoutMs = 20
        }) { port, application, _ in
            let held = try RawClient(port: port, timeoutMs: 200)
            held.get("/hold")
            #expect(application.events.next() == "holding")
            let silent = try RawClient(port: port)
            #expect(try silent.rest() == [])
            #expect(throws: RawClient.Failure.self) { try held.rest() }
        }
    }

    @Test func connectionsPastTheLimitGet503() async throws {
        try await withServer({ $0.connectionsMax = 1 }) { port, _, server in
            let first = try RawClient(port: port)
            first.get("/echo")
            #expect(try first.response().status == 200)
            let second = try RawClient(port: port)
            let response = try second.response()
            #expect(response.status == 503 && response.has("retry-after: 1"))
            first.get("/echo")
            #expect(try first.response().status == 200)
            #expect(server.counters.connectionsRefused == 1)
            #expect(server.counters.peerErrorsTotal == 0)
        }
    }

    @Test func connectionsOfAnAddressPastItsLimitGet503() async throws {
        let subjects = AddressSubjects(peer: { $0 == "127.0.0.1" ? "local" : nil }, client: { address, _ in address })
        try await withServer(
            { ($0.connectionsPerAddressMax, $0.linger.timeoutMs) = (2, 60_000) }, addresses: subjects
        ) { port, _, server in
            let clients = try (0..<2).map { _ in try RawClient(port: port) }
            for client in clients {
                client.get("/echo")
                #expect(try client.response().status == 200)
            }
            let third = try RawClient(port: port)
            third.get("/echo")
            let response = try third.response()
            #expect(response.status == 503 && response.has("retry-after: 1"))
            // One past those that are refused gets no answer; others have their own limit.
            let refused = try (0..<2).map { _ in try RawClient(port: port) }
            for client in refused { #expect(try client.rest() == []) }
            let other = try RawClient(port: port, from: "127.0.0.2")
            other.get("/echo")
            #expect(try other.response().status == 200)
            #expect(server.counters.connectionsRefused == 3)
            // Connections that have ended do not count.
            clients[0].reset()
            third.reset()
            let isServed = (0..<1_000).contains { _ in
                let next = try? RawClient(port: port)
                next?.get("/echo")
                return (try? next?.response().status) == 200
            }
            #expect(isServed)
        }
    }

    @Test(arguments: [nil, "198.51.100.7"])
    func bodiesOfAnAddressLeaveRoomForThoseOfOthers(forwarded: String?) async throws {
        let subjects = AddressSubjects(peer: { _ in nil }, client: { $1 ?? $0 })
        try await withServer(
            { ($0.bodyBytesMax, $0.bodiesBytesMax) = (10_000, 20_000) }, addresses: subjects
        ) { port, _, _ in
            func post(_ sent: Int, of bytes: Int, _ client: RawClient, _ forwarded: String?) {
                let name = forwarded.map { "X-Forwarded-For: \($0)\r\n" } ?? ""
                client.send("POST /echo HTTP/1.1\r\nHost: a\r\n\(name)Content-Length: \(bytes)\r\n\r\n")
                client.send(String(repeating: "x", count: sent))
            }
            // Held open, until the address gets no more.
            var held: [RawClient] = []
            var status = 200
            while status == 200 {
                try #require(held.count < 100)
                let client = try RawClient(port: port)
                post(2_500, of: 10_000, client, forwarded)
                held.append(client)
                let next = try RawClient(port: port)
                post(2_500, of: 2_500, next, forwarded)
                status = try next.response().status
            }
            #expect(status == 503)
            let other = try RawClient(port: port, from: "127.0.0.2")
            post(5_000, of: 5_000, other, "203.0.113.9")
            #expect(try other.response().status == 200, "half of what is left")
        }
    }

    @Test(arguments: [
        ("GET /echo HTTP/1.1\r\nHost: t\r\nOrigin: http://page\r\n\r\n", "http://page"),
        ("GET /echo HTTP/1.1\r\nHost: t\r\nOrigin: http://page\r\nX-Unfinished: ", "http://page"),
        ("GET /echo HTTP/1.1\r\nHost: t\r\n\r\n", "unknown"),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "unknown"),
        ("", "unknown"),
    ])
    func refusalOfAConnectionIsForTheOriginThatWasRead(_ request: String, origin: String) async throws {
        try await withServer(
            { ($0.connectionsMax, $0.linger.timeoutMs) = (1, 200) },
            http2: { channel, _ in channel.close(promise: nil) }
        ) { port, application, _ in
            let first = try RawClient(port: port)
            first.get("/hold")
            #expect(application.events.next() == "holding")
            for endsInput in [false, true] {
                let second = try RawClient(port: port)
                second.send(request)
                if endsInput { second.shutdownWrite() }
                let response = try second.response()
                #expect(response.status == 503 && response.has("retry-after: 1"), "\(response)")
                #expect(response.has("x-origin: \(origin)"), "\(response)")
                #expect(try second.rest() == [])
            }
        }
    }

    @Test func aReaderThatStopsIsCutOff() async throws {
        try await withServer({
            $0.writeStallTimeoutMs = 80
            $0.kernelSendBufferBytes = 16_384
        }) { port, _, server in
            let client = try RawClient(port: port, receiveBufferBytes: 4096)
            client.get("/big?bytes=30000000")
            let neighbour = try RawClient(port: port)
            while server.counters.peersCutOffTotal == 0 {
                neighbour.get("/echo")
                #expect(try neighbour.response().status == 200)
            }
            #expect(try client.rest().count < 30_000_000)
        }
    }

    @Test func bodiesOfAllConnectionsHaveABoundTogether() async throws {
        try await withServer({
            $0.bodyBytesMax = 1000
            $0.bodiesBytesMax = 1500
        }) { port, _, _ in
            let head = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n"
            let first = try RawClient(port: port)
            first.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n")
            #expect(try first.text(through: "\r\n\r\n").hasPrefix("HTTP/1.1 100"))
            first.send(String(repeating: "x", count: 900))
            // There is room until the server has read those.
            var (status, body) = (200, "")
            for _ in 0..<1_000 where status == 200 {
                let second = try RawClient(port: port)
                second.send(head + String(repeating: "y", count: 1000))
                let response = try second.response()
                (status, body) = (response.status, response.body)
            }
            #expect(status == 503 && body.contains(#""code":"UNAVAILABLE","retryAfterMs":1000"#), "\(body)")
            first.send(String(repeating: "x", count: 100))
            #expect(try first.response().status == 200)
            let third = try RawClient(port: port)
            third.send(head + String(repeating: "z", count: 1000))
            #expect(try third.response().status == 200)
        }
    }

    @Test func largeBodiesDoNotRefuseSmallOnes() async throws {
        try await withServer({
            $0.bodyBytesMax = 1 << 20
            $0.bodiesBytesMax = 1 << 20
        }) { port, _, _ in
            // Held open, until there is no room for another one.
            var large: [RawClient] = []
            var isRefused = false
            while large.count < 20, !isRefused {
                let client = try RawClient(port: port)
                client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 400000\r\n\r\n")
                client.send(String(repeating: "x", count: 390_000))
                let before = try RawClient(port: port)
                before.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 400000\r\n\r\n")
                before.send(String(repeating: "y", count: 400_000))
                isRefused = try before.response().status == 503
                large.append(client)
            }
            #expect(isRefused)
            for _ in 0..<5 {
                let small = try RawClient(port: port)
                small.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n")
                small.send(String(repeating: "z", count: 60_000))
                #expect(try small.response().status == 200)
            }
        }
    }
}
