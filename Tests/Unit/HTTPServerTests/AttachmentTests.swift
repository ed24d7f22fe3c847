import Testing

@testable import HTTPServer

/// `ConnectionAttachment`: state that an application keeps with a connection for the client's next request.
@Suite struct AttachmentTests {
    private static func text(_ tag: String?, query: String = "") -> String {
        "GET /kept?\(query) HTTP/1.1\r\nHost: x\r\n" + (tag.map { "If-None-Match: \"\($0)\"\r\n" } ?? "") + "\r\n"
    }

    private static func answer(_ client: RawClient, _ tag: String?, query: String = "") throws -> String {
        client.send(text(tag, query: query))
        return try client.response().body
    }

    /// Sends the request until the server recognizes it, which leaves an attachment.
    private static func attach(_ client: RawClient, query: String = "") throws {
        for _ in 0..<3 { #expect(try answer(client, "a", query: query) == #"first "a""#) }
    }

    @Test func anAttachmentHandlesTheSameRequestWithTheExpectedTag() async throws {
        try await withServer { port, application, _ in
            let client = try RawClient(port: port)
            try Self.attach(client)
            #expect(try Self.answer(client, "0") == "kept 1")
            client.send(Self.text("1").replacing("Match: ", with: "Match: W/"))
            #expect(try client.response().body == "kept 2", "a compressed answer has a weak tag")
            #expect(try Self.answer(client, "9") == #"first "9""#)
            #expect(application.events.next() == "detached after 2")
        }
    }

    @Test func anAttachmentIsDetachedByAnyOtherRequest() async throws {
        try await withServer { port, application, _ in
            for other in ["GET /echo HTTP/1.1\r\nHost: x\r\n\r\n", Self.text("0", query: "n=1"), Self.text(nil)] {
                let client = try RawClient(port: port)
                try Self.attach(client)
                client.send(other)
                _ = try client.response()
                #expect(application.events.next() == "detached after 0", "\(other)")
            }
        }
    }

    @Test func anAttachmentIsDetachedWhenItsTimeOrItsConnectionEnds() async throws {
        try await withServer { port, application, _ in
            let timed = try RawClient(port: port)
            try Self.attach(timed, query: "ms=1")
            #expect(application.events.next() == "detached after 0")
            #expect(try Self.answer(timed, "0", query: "ms=1") == #"first "0""#)
            #expect(application.events.next() == "detached after 0")
            let closed = try RawClient(port: port)
            try Self.attach(closed)
            closed.reset()
            #expect(application.events.next() == "detached after 0")
        }
    }

    @Test func anAttachmentIsFreedWhenItIsOver() async throws {
        try await withServer { port, application, _ in
            for limit in [0, 1] {
                let client = try RawClient(port: port)
                try Self.attach(client, query: "tell&n=\(limit)&limit=1")
                if limit == 1 { _ = try Self.answer(client, "0", query: "tell&n=\(limit)&limit=1") }
                client.send("GET /echo HTTP/1.1\r\nHost: x\r\n\r\n")
                _ = try client.response()
                #expect(application.events.next() == "detached after \(limit)")
                #expect(application.events.next() == "freed")
            }
        }
    }

    @Test func anAttachmentLeavesARequestToTheApplication() async throws {
        try await withServer { port, _, _ in
            let client = try RawClient(port: port)
            try Self.attach(client, query: "limit=1")
            #expect(try Self.answer(client, "0", query: "limit=1") == "kept 1")
            #expect(try Self.answer(client, "1", query: "limit=1") == #"first "1""#)
            #expect(try Self.answer(client, "0", query: "limit=1") == "kept 1", "it left another one")
        }
    }

    /// A request without the field cannot be continued: bytes of the tag after it are the beginning of another one.
    @Test func anAttachmentNeedsARequestWithATag() async throws {
        try await withServer { port, _, _ in
            let client = try RawClient(port: port)
            for _ in 0..<3 { #expect(try Self.answer(client, nil) == "first no tag") }
            client.send(Self.text(nil) + "\"0\"")
            #expect(try client.response().body == "first no tag")
            client.send(" / HTTP/1.1\r\n\r\n")
            #expect(try client.response().status == 400)
        }
    }
}
