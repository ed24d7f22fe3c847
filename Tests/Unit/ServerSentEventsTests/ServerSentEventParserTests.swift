import Testing

@testable import ServerSentEvents

@Suite struct ServerSentEventParserTests {
    @Test(arguments: [1, 2, 5, 1_000])
    func eventsAreParsedHoweverTheyAreSplit(_ size: Int) {
        let text =
            ":\n\nid: 7\nevent: next\ndata: {\"a\":\ndata:1}\n\nevent: x\n\ndata: y\r\n\r\nevent: next\rdata: z\r\r"
        var parser = ServerSentEventParser()
        var events: [ServerSentEventParser.Event] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            events += parser.feed(rest.prefix(size))
            rest = rest.dropFirst(size)
        }
        #expect(
            events == [
                .init(name: "next", id: "7", data: Array("{\"a\":\n1}".utf8)),
                .init(name: "message", id: "7", data: Array("y".utf8)),
                .init(name: "next", id: "7", data: Array("z".utf8)),
            ])
    }

    @Test func anEventWithoutEndIsTooLarge() {
        var parser = ServerSentEventParser(bytesMax: 100)
        #expect(parser.feed(Array("data: fits\n\n".utf8)).count == 1 && !parser.isTooLarge)
        #expect(parser.feed(Array(repeating: UInt8(ascii: "x"), count: 60)).isEmpty && !parser.isTooLarge)
        #expect(parser.feed(Array(repeating: UInt8(ascii: "x"), count: 60)).isEmpty && parser.isTooLarge)
    }
}
