import HTTPServer
import JSON
import LiveModel
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import OutboundHTTP
import ServerSentEvents
import Synchronization
import TestSupport
import Testing

@testable import Admin

/// Reports over real connections, one of which is not read.
@Suite(.timeLimit(.minutes(3)))
struct SlowReaderTests {
    /// A report that always differs, counted by path, and is large for the slow reader.
    private final class Reports: HTTPHandler {
        let made = Mutex<[String: Int64]>([:])
        let streams = ReportStreams(streamsMax: 2)

        func handle(_ request: HTTPRequest, _ exchange: HTTPExchange) {
            let path = request.path
            let stream = ReportStream(exchange: exchange, everyMs: 1) { [self] in
                let number = made.withLock { made in
                    made[path, default: 0] += 1
                    return made[path, default: 0]
                }
                let text = String(repeating: "x", count: path == "/slow" ? 1 << 20 : 1)
                return ["number": .int(number), "text": .string(text)]
            }
            do throws(RequestError) {
                try stream.open(streams)
            } catch {
                exchange.fail(error)
            }
        }

        func webSocket(_ request: HTTPRequest) -> WebSocketDecision { .reject(.notFound, body: ByteBuffer()) }
    }

    private struct Enough: Error {}

    /// Reads reports until one has the number; returns the last number.
    private static func read(
        _ url: String, _ sender: HTTPSender, before: @escaping @Sendable () async -> Void = {},
        until last: @escaping @Sendable () -> Int64
    ) async -> Int64 {
        var parser = ServerSentEventParser()
        var number: Int64 = 0
        let request = HTTPSender.Request(url: url, headers: [], timeoutMs: 10_000, responseBytesMax: 1_000)
        _ = await sender.follow(request) { part in
            await before()
            for event in parser.feed(part.readableBytesView) {
                number = (try? JSONValue(parsing: event.data))?["number"]?.intValue ?? 0
            }
            if number >= last() { throw Enough() }
        }
        return number
    }

    @Test func aSlowReaderMissesReportsAndCostsNothingMeanwhile() async throws {
        let reports = Reports()
        var configuration = HTTPServerConfiguration()
        configuration.host = "127.0.0.1"
        configuration.port = 0
        let server = HTTPServer(
            configuration: configuration, handler: reports, logger: Logger(label: "test"), group: .singleton)
        let url = "http://127.0.0.1:\(try await server.start())"
        let sender = HTTPSender(group: .singleton, connectionsPerHostMax: 4)
        let (gate, opening) = AsyncStream.makeStream(of: Void.self)
        let wanted = Atomic<Int64>(.max)
        let slow = Task {
            await Self.read(url + "/slow", sender) {
                for await _ in gate {}
            } until: {
                wanted.load(ordering: .acquiring)
            }
        }
        _ = try await waitFor("the first report") { reports.made.withLock { $0["/slow"] } }
        // The kernel holds some 10 MiB of it.
        #expect(await Self.read(url + "/fast", sender, until: { 1_000 }) >= 1_000)
        let made = reports.made.withLock { $0["/slow"] ?? 0 }
        #expect(made < 40)
        // It was not cut off, and gets newer ones once it reads.
        wanted.store(made + 1, ordering: .releasing)
        opening.finish()
        #expect(await slow.value > made)
        await sender.stop()
        await server.shutdown(graceMs: 0)
    }
}
