import NIOCore
import Testing

@testable import HTTPServer

/// Compressed messages and responses on the wire, read by zlib.
@Suite(.serialized) struct CompressionTests {
    private static let offer = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n"
    private static let gzip = "Accept-Encoding: gzip\r\n"

    private static func on(_ configuration: inout HTTPServerConfiguration) {
        configuration.compression = CompressionConfiguration()
    }

    // MARK: WebSocket

    @Test func longMessagesAreCompressedAndShortOnesAreNot() async throws {
        try await withServer(Self.on) { port, application, server in
            let client = try RawClient(port: port)
            let head = try client.openWebSocket(headers: Self.offer)
            let agreed = "permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\n"
            #expect(head.contains("Sec-WebSocket-Extensions: " + agreed))
            client.sendText("short")
            #expect(try client.frame() == RawFrame(first: 0x81, payload: Array("short".utf8)))
            let long = [UInt8](repeating: 0x61, count: 10_000)
            client.sendFrame(0x81, long)
            let result = try client.frame()
            #expect(result.first == 0xC1 && result.payload.count < 100)
            #expect(try ZlibReader.message(result.payload) == long)
            // Only results are compressed.
            client.sendFrame(0x82, long)
            #expect(try client.frame() == RawFrame(first: 0x82, payload: long))
            for (word, prefix) in [("shared", "own "), ("frame", "f"), ("shared", "own ")] {
                client.sendText(word)
                let frame = try client.frame()
                #expect(frame.first == 0xC1)
                let plain = Array(prefix.utf8) + Array(application.shared.bytes.readableBytesView)
                #expect(try ZlibReader.message(frame.payload) == plain)
            }
            let counted = server.counters.compression
            #expect(counted.compressionsTotal == 2 && counted.messagesTotal == 4)
            #expect(counted.messageBytesTotal == 10_000 + 3 * application.shared.bytes.readableBytes + 9)
            #expect(counted.sentBytesTotal < counted.messageBytesTotal / 3)
        }
    }

    @Test func aThousandSessionsShareOneCompression() async throws {
        try await withServer({
            Self.on(&$0)
            $0.connectionsMax = 2_000
        }) { port, application, server in
            let clients = try (0..<1_000).map { _ in
                let client = try RawClient(port: port)
                try client.openWebSocket(headers: Self.offer)
                return client
            }
            for client in clients { client.sendText("shared") }
            let first = try clients[0].frame()
            #expect(
                try ZlibReader.message(first.payload)
                    == Array("own ".utf8) + Array(application.shared.bytes.readableBytesView))
            for client in clients.dropFirst() { #expect(try client.frame() == first) }
            #expect(server.counters.compression.compressionsTotal == 1)
            #expect(server.counters.compression.messagesTotal == 1_000)
            // Other windows are another form; a client without compression gets the text.
            let small = try RawClient(port: port)
            let bits = "; server_max_window_bits=12"
            let head = try small.openWebSocket(
                headers: "Sec-WebSocket-Extensions: permessage-deflate\(bits)\r\n")
            #expect(head.contains(bits + "\r\n"))
            small.sendText("shared")
            _ = try ZlibReader.message(small.frame().payload, .rawWithSmallWindow)
            let plain = try RawClient(port: port)
            #expect(try !plain.openWebSocket().lowercased().contains("extensions"))
            plain.sendText("shared")
            #expect(try plain.frame().first == 0x81)
            #expect(server.counters.compression.compressionsTotal == 2)
        }
    }

    @Test func clientsMayCompress() async throws {
        try await withServer(Self.on) { port, _, _ in
            let client = try RawClient(port: port)
            try client.openWebSocket(headers: Self.offer)
            let text = String(repeating: "compressed ", count: 20)
            let payload = ZlibReader.compressed(Array(text.utf8))
            client.sendFrame(0xC1, payload)
            #expect(try client.frame().text == text)
            // In fragments, with a ping between them; RSV1 marks the first alone.
            client.sendFrame(0x41, Array(payload.prefix(3)))
            client.sendFrame(0x89, [1])
            client.sendFrame(0x00, Array(payload[3..<5]))
            client.sendFrame(0x80, Array(payload.dropFirst(5)))
            #expect(try client.frame() == RawFrame(first: 0x8A, payload: [1]))
            #expect(try client.frame().text == text)
            // Uncompressed messages stay possible.
            client.sendText("plain")
            #expect(try client.frame().text == "plain")
        }
    }

    /// Garbage, bombs, text that is no UTF-8, and RSV1 where it must not stand.
    @Test(
        arguments: [
            (0xC1, [0xFF, 0xFF], 1007), (0xC1, [], 1007), (0xC1, ZlibReader.compressed([0xC3, 0x28]), 1007),
            (0xC1, ZlibReader.compressed([UInt8](repeating: 0x20, count: 8 << 20)), 1009),
            (0xC9, [], 1002), (0xC0, [], 1002), (0xA1, [], 1002), (0x91, [], 1002),
        ] as [(UInt8, [UInt8], Int)])
    func badMessagesCloseTheConnection(_ first: UInt8, _ payload: [UInt8], _ code: Int) async throws {
        try await withServer(Self.on) { port, application, _ in
            let client = try RawClient(port: port)
            try client.openWebSocket(headers: Self.offer)
            client.sendFrame(first, payload)
            #expect(try client.frame().closeCode == code)
            #expect(application.events.next() == "closed \(code)")
        }
    }

    @Test(arguments: [true, false])
    func withoutAgreementCompressedMessagesAreErrors(_ isOn: Bool) async throws {
        try await withServer({ if isOn { Self.on(&$0) } }) { port, _, _ in
            let client = try RawClient(port: port)
            let malformed = "Sec-WebSocket-Extensions: permessage-deflate; x\r\n"
            let head = try client.openWebSocket(headers: isOn ? malformed : Self.offer)
            #expect(!head.lowercased().contains("extensions"))
            client.sendFrame(0xC1, ZlibReader.compressed([0x61]))
            #expect(try client.frame().closeCode == 1002)
        }
    }

    /// Decompressed bytes count against the client's rate.
    @Test func manyGrowingMessagesAreTooMany() async throws {
        try await withServer({
            Self.on(&$0)
            ($0.webSocketFramesPerSecond, $0.webSocketFramesBurst) = (1, 20)
        }) { port, _, _ in
            let client = try RawClient(port: port)
            try client.openWebSocket(headers: Self.offer)
            let payload = ZlibReader.compressed([UInt8](repeating: 0x20, count: 250_000))
            client.send((0..<4).flatMap { _ in RawClient.frame(0xC2, payload) })
            var frame = try client.frame()
            while frame.first != 0x88 { frame = try client.frame() }
            #expect(frame.closeCode == 1008)
        }
    }

    @Test func pastTheBudgetMessagesArePlain() async throws {
        try await withServer({
            Self.on(&$0)
            $0.compression?.bodyBytesMax = 10_000
            $0.compression?.bytesPerSecond = 1
        }) { port, _, server in
            let client = try RawClient(port: port)
            try client.openWebSocket(headers: Self.offer)
            var firsts: [UInt8] = []
            for _ in 0..<3 {
                client.sendFrame(0x81, [UInt8](repeating: 0x61, count: 4_000))
                firsts.append(try client.frame().first)
            }
            client.sendText("shared")
            firsts.append(try client.frame().first)
            client.sendText("shared")
            firsts.append(try client.frame().first)
            #expect(firsts == [0xC1, 0xC1, 0x81, 0x81, 0x81])
            // The shared body was asked for twice and refused once.
            #expect(server.counters.compression.overBudgetTotal == 2)
        }
    }

    // MARK: HTTP

    private func body(_ client: RawClient, _ response: RawResponse) throws -> [UInt8] {
        let field = response.head.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length: ") }
        return try client.bytes(Int(field?.dropFirst(16) ?? "") ?? 0)
    }

    @Test func resultsAreCompressedForThoseWhoAccept() async throws {
        try await withServer(Self.on) { port, _, _ in
            let client = try RawClient(port: port)
            client.get("/result", headers: Self.gzip)
            let response = try client.response(toHead: true)
            #expect(response.has("Content-Encoding: gzip") && response.has("Vary: Origin, Accept-Encoding"))
            #expect(response.has("ETag: W/\"1\""))
            let file = try body(client, response)
            #expect(file.count < 100)
            #expect(try ZlibReader.gzip(file) == [UInt8](repeating: UInt8(ascii: "r"), count: 5_000))
            // HEAD has the same header.
            client.send("HEAD /result HTTP/1.1\r\nHost: t\r\n\(Self.gzip)\r\n")
            let head = try client.response(toHead: true)
            #expect(head.has("Content-Encoding: gzip") && head.has("Content-Length: \(file.count)"))
            for refusing in ["", "Accept-Encoding: gzip;q=0\r\n", "Accept-Encoding: br\r\n"] {
                client.get("/result", headers: refusing)
                let response = try client.response()
                #expect(!response.head.contains("Content-Encoding") && response.has("Content-Length: 5000"))
                #expect(response.has("ETag: \"1\"") && response.has("Vary: Origin, Accept-Encoding"))
            }
            client.get("/result?bytes=1023", headers: Self.gzip)
            let short = try client.response()
            #expect(!short.head.contains("Content-Encoding") && short.has("ETag: \"1\""))
            // Only results are compressed, and only they vary.
            client.get("/big?bytes=5000", headers: Self.gzip)
            let other = try client.response()
            #expect(other.body.count == 5_000 && !other.head.contains("Vary"))
        }
    }

    @Test func withoutTheSettingNothingIsCompressed() async throws {
        try await withServer { port, _, server in
            let client = try RawClient(port: port)
            client.get("/result", headers: Self.gzip)
            let response = try client.response()
            #expect(response.body.count == 5_000 && response.has("Vary: Origin"))
            client.get("/results", headers: Self.gzip)
            #expect(try client.response().body.hasPrefix(":\n\ndata: {"))
            #expect(server.counters.compression == CompressionCounters())
        }
    }

    @Test func patchesAreCompressedAsManipulations() async throws {
        try await withServer(Self.on) { port, _, _ in
            let client = try RawClient(port: port)
            client.get("/patch", headers: Self.gzip + "A-IM: json-patch, gzip\r\n")
            let response = try client.response(toHead: true)
            #expect(response.has("IM: json-patch, gzip") && response.has("ETag: \"2\""))
            #expect(!response.head.contains("Content-Encoding"))
            #expect(try ZlibReader.gzip(body(client, response)).count == 5_000)
            client.get("/patch", headers: Self.gzip + "A-IM: json-patch\r\n")
            let plain = try client.response()
            #expect(plain.has("IM: json-patch") && plain.body.count == 5_000)
        }
    }

    @Test func streamsAreReadAsTheyArrive() async throws {
        try await withServer(Self.on) { port, application, server in
            let client = try RawClient(port: port)
            let shared = Array(application.shared.bytes.readableBytesView)
            for version in ["1.1", "1.0"] {
                client.send("GET /results HTTP/\(version)\r\nHost: t\r\n\(Self.gzip)\r\n")
                let head = try client.response(toHead: true)
                #expect(head.has("Content-Encoding: gzip") && head.has("Vary: Accept-Encoding"))
                var chunks: [[UInt8]] = []
                if version == "1.1" {
                    while true {
                        let size = Int(try client.text(through: "\r\n").dropLast(1), radix: 16) ?? 0
                        let chunk = try client.bytes(size + 2).dropLast(2)
                        if size == 0 { break }
                        chunks.append(Array(chunk))
                    }
                    let parts = try ZlibReader.read(chunks, .gzip)
                    #expect(
                        parts == [
                            Array(":\n\n".utf8), Array("data: ".utf8) + shared, Array("\n\n".utf8), shared, [],
                        ])
                } else {
                    let plain = try ZlibReader.gzip(client.rest())
                    #expect(plain == Array(":\n\ndata: ".utf8) + shared + Array("\n\n".utf8) + shared)
                }
            }
            #expect(server.counters.compression.compressionsTotal == 1)
            #expect(server.counters.compression.messagesTotal == 4)
        }
    }

    /// A repeated request is recognized by its bytes, of which `Accept-Encoding` is a part.
    @Test func repeatedRequestsKeepTheirCoding() async throws {
        try await withServer(Self.on) { port, application, server in
            let clients = try [RawClient(port: port), RawClient(port: port)]
            let plain = Array(application.shared.bytes.readableBytesView)
            for round in 0..<6 {
                for (client, field) in zip(clients, [Self.gzip, "Accept-Encoding: none\r\n"]) {
                    client.get("/poll", headers: field + "If-None-Match: \"\(round)\"\r\n")
                    let response = try client.response(toHead: true)
                    let bytes = try body(client, response)
                    if field == Self.gzip {
                        #expect(try response.has("Content-Encoding: gzip") && ZlibReader.gzip(bytes) == plain)
                    } else {
                        #expect(!response.head.contains("Content-Encoding") && bytes == plain)
                    }
                }
            }
            #expect(server.counters.compression.compressionsTotal == 1)
            #expect(server.counters.compression.messagesTotal == 6)
        }
    }
}
