import Foundation
import Logging
import Synchronization
import Testing

@testable internal import Observability

/// Keeps lines; its clock stands still.
private final class MemorySink: LogSink {
    private let lines = Mutex<[String]>([])

    func write(_ line: [UInt8]) {
        lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
    }

    func nowMs() -> Int64 { 1_700_000_000_123 }

    var all: [String] { lines.withLock { $0 } }
}

private struct Failure: Error, CustomStringConvertible {
    let description = "no \"route\""
}

@Suite("Log lines")
struct LogLineTests {
    private let sink = MemorySink()

    private func logger(_ options: LogOptions) -> Logger {
        let sink = sink
        return Logger(label: "gateway") { label in
            LineLogHandler(label: label, options: options, sink: sink)
        }
    }

    @Test("text: time, level, logger, message, sorted fields")
    func text() {
        var logger = logger(LogOptions(node: "a"))
        logger[metadataKey: "zone"] = "x"
        logger.info("started", metadata: ["port": "9399", "why": "two words", "said": "a \"b\"", "empty": ""])
        #expect(
            sink.all == [
                "2023-11-14T22:13:20.123Z info gateway: started empty=\"\" node=a port=9399 said=\"a \\\"b\\\"\" "
                    + "why=\"two words\" zone=x\n"
            ])
    }

    @Test("the level is kept to and can be changed on a logger")
    func level() {
        var logger = logger(LogOptions(level: .warning))
        logger.info("no")
        logger.logLevel = .trace
        logger.trace("yes")
        #expect(sink.all.count == 1 && sink.all[0].contains(" trace gateway: yes"))
    }

    @Test("colour surrounds the level only")
    func colour() {
        logger(LogOptions(colour: true)).error("x")
        #expect(sink.all[0] == "2023-11-14T22:13:20.123Z \u{1B}[1;31merror\u{1B}[0m gateway: x\n")
    }

    @Test("nothing that is logged makes a second line or reaches the terminal's escapes")
    func noForgery() {
        let logger = logger(LogOptions())
        logger.info("a\n2023 info fake: b\u{1B}[2J\u{2028}\u{85}", metadata: ["k\ney": "v\r\nw"])
        let line = sink.all[0].dropLast()
        #expect(line.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x2028 && $0.value != 0x85 })
        #expect(line.hasSuffix("a\\n2023 info fake: b\\u{1b}[2J\\u{2028}\\u{85} k\\ney=v\\r\\nw"))
    }

    @Test("JSON: one object with the metadata beside the fixed members")
    func json() throws {
        var logger = logger(LogOptions(format: .json, node: "a"))
        logger[metadataKey: "nested"] = ["list": ["1", .stringConvertible(2)], "deep": [["a": ["b"]]]]
        logger.error("say \"hi\"\u{1}", error: Failure(), metadata: ["message": "own"])
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(sink.all[0].utf8)) as? [String: Any])
        #expect(object["time"] as? String == "2023-11-14T22:13:20.123Z")
        #expect(object["level"] as? String == "error")
        #expect(object["logger"] as? String == "gateway")
        #expect(object["message"] as? String == "say \"hi\"\u{1}")
        #expect(object["message_"] as? String == "own")
        #expect(object["error"] as? String == "no \"route\"")
        #expect(object["node"] as? String == "a")
        let nested = try #require(object["nested"] as? [String: Any])
        #expect(nested["list"] as? [String] == ["1", "2"])
        #expect(sink.all[0].hasSuffix("}\n") && sink.all[0].filter { $0 == "\n" }.count == 1)
    }

    @Test("fields of a logger's metadata provider are in its lines")
    func provided() {
        let sink = sink
        let logger = Logger(label: "gateway") { label in
            LineLogHandler(
                label: label, options: LogOptions(), sink: sink,
                metadataProvider: Logger.MetadataProvider { ["zone": "x"] })
        }
        logger.info("started")
        #expect(sink.all[0].hasSuffix(" zone=x\n"))
    }

    @Test("a line has a bound, and a cut JSON line is still JSON", arguments: LogOptions.Format.allCases)
    func bounded(format: LogOptions.Format) throws {
        let long = String(repeating: "é", count: LineLogHandler.lineBytesMax)
        var many: Logger.Metadata = ["list": .array(Array(repeating: .string(long), count: 10))]
        for number in 0..<50 { many["field\(number)"] = .string(long) }
        logger(LogOptions(format: format)).info("\(long)", metadata: many)
        let line = sink.all[0]
        // A member that begins just below the bound may still name itself.
        #expect(line.utf8.count < LineLogHandler.lineBytesMax + 1024)
        switch format {
        case .text: #expect(line.hasSuffix(" …cut\n") && line.utf8.count <= LineLogHandler.lineBytesMax + 1)
        case .json:
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            #expect(object?["cut"] as? Bool == true)
        }
    }

    @Test(
        "time in UTC",
        arguments: [
            (0 as Int64, "1970-01-01T00:00:00.000Z"), (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"), (1_709_251_200_000, "2024-03-01T00:00:00.000Z"),
            (4_102_444_799_000, "2099-12-31T23:59:59.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
        ])
    func time(epochMs: Int64, expected: String) {
        #expect(UTCTime.text(epochMs: epochMs) == expected)
    }
}
