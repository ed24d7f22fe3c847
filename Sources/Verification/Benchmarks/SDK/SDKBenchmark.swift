import AuctionsClient
import Foundation
import FreshetClient
import FreshetLink
import FreshetSQLite
import FreshetStore
import FreshetTesting
import FreshetTypes
import JSON

/// Measures the Swift SDK: from a frame to typed values, the cache's file, and many live queries on one socket.
package enum SDKBenchmark {
    private static let rows = 1_000
    private static let feeds = 100
    private static let key = ResultKey(operation: ListLots.name, variables: "{}")

    package static func run(isQuick: Bool) async throws -> [BenchmarkResult] {
        let rounds = isQuick ? 20 : 100
        let frame = try frame(rounds)
        let (write, read) = try await file(rounds)
        let (delivery, last) = try await liveQueries(isQuick ? 20 : 200)
        print(
            Text.table([
                ["Swift SDK, medians", "ms"],
                ["a frame with \(rows) rows to typed values", Text.fixed(frame * 1e3)],
                ["\(rows) rows into the cache's file", Text.fixed(write * 1e3)],
                ["\(rows) rows from the cache's file to typed values", Text.fixed(read * 1e3)],
                [
                    "a change of \(feeds) live queries on one socket, until the last typed value",
                    Text.fixed(last * 1e3),
                ],
                ["CPU of both ends for one of its results", Text.fixed(delivery * 1e3, decimals: 3)],
            ]))
        func result(_ name: String, _ seconds: Double, atMostMs: Double?) -> BenchmarkResult {
            BenchmarkResult(
                name: name, measured: Text.milliseconds(seconds), ratio: seconds * 1e3,
                limit: atMostMs.map { .atMost($0) } ?? .none)
        }
        return [
            result("Swift SDK: a frame with 1,000 rows to typed values, ms", frame, atMostMs: nil),
            result("Swift SDK: 1,000 rows into the cache's file, ms", write, atMostMs: nil),
            result(
                "Swift SDK: 1,000 rows from the cache's file, ms", read,
                atMostMs: BenchmarkLimits.cachedRowsMsMax),
            result("Swift SDK: a change of 100 live queries on one socket, ms", last, atMostMs: nil),
        ]
    }

    /// The result of `ListLots`.
    /// - Parameter round: changes every row.
    private static func document(_ rows: Int, round: Int) -> JSONValue {
        let lots = (0..<rows).map { number -> JSONValue in
            let digits = String(number)
            return [
                "id": .string(String(repeating: "0", count: 32 - digits.count) + digits),
                "title": "An early turntable, 1924", "category": "Hi-Fi",
                "description": "Found behind a shelf. All parts are original.",
                "highestBid": .int(Int64(round * 1_000 + number)), "closesAt": "2026-11-27T08:00:00.000000Z",
            ]
        }
        return ["lots": .array(lots)]
    }

    private static func typed(_ document: JSONValue?) throws -> Int {
        guard let document else { throw BenchmarkFailure("the cache has no result") }
        return try ListLots.Data(result: AnyValue(json: document)).lots.count
    }

    // MARK: Frame

    private static func frame(_ rounds: Int) throws -> Double {
        var link = LinkMachine(seed: 1)
        _ = link.follow(FeedID(1), FeedRequest(connector: "auctions", operation: "ListLots", variables: [:]), nowMs: 0)
        _ = link.tokenReady(nil, renewInMs: nil, nowMs: 0)
        _ = link.opened(link: 1, nowMs: 0)
        _ = link.received(link: 1, Array(#"{"type":"connection_ack"}"#.utf8), nowMs: 0)
        var store = StoreMachine(bytesMax: 64 << 20)
        var samples = Samples()
        for round in 0..<rounds {
            let tag = JSONValue.string("t\(round)")
            let payload: JSONValue = ["data": document(rows, round: round), "extensions": ["resume": tag]]
            let frame = JSONWriter.compact(["id": "1", "type": "next", "payload": payload])
            let start = Clock.threadSeconds
            guard case .result(_, let data, _, let tag)? = link.received(link: 1, frame, nowMs: 0).last else {
                throw BenchmarkFailure("the frame brought no result")
            }
            _ = store.write(
                key, data, ListLots.entities, revision: ListLots.revision, atMs: 0, tag: tag)
            let count = try typed(store.read(key, revision: ListLots.revision)?.document)
            samples.add(Clock.threadSeconds - start)
            guard count == rows else { throw BenchmarkFailure("\(count) rows instead of \(rows)") }
        }
        return samples.median
    }

    // MARK: File

    private static func file(_ rounds: Int) async throws -> (write: Double, read: Double) {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("freshet-bench-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = try FileStore(path: folder.path + "/cache.sqlite", bytesMax: 100 << 20)
        defer { file.close() }
        var (writes, reads) = (Samples(), Samples())
        for round in 0..<rounds {
            var store = StoreMachine(bytesMax: 64 << 20)
            let outcome = store.write(
                key, document(rows, round: round), ListLots.entities, revision: ListLots.revision, atMs: 0)
            let start = Clock.now
            file.save(outcome.saved, scope: "u", nowMs: 0)
            await file.flush()
            writes.add(Clock.now - start)

            let begin = Clock.now
            guard let saved = await file.result(key, revision: ListLots.revision, scope: "u", nowMs: 0) else {
                throw BenchmarkFailure("the file has no result")
            }
            var fresh = StoreMachine(bytesMax: 64 << 20)
            fresh.load(saved)
            let count = try typed(fresh.read(key, revision: ListLots.revision)?.document)
            reads.add(Clock.now - begin)
            guard count == rows else { throw BenchmarkFailure("\(count) rows instead of \(rows)") }
        }
        return (writes.median, reads.median)
    }

    // MARK: Live queries

    /// Many live queries of one connector over one socket of a server in this process; each change changes them all.
    /// - Returns: CPU for one result, and the time until all subscribers have a change.
    private static func liveQueries(_ rounds: Int) async throws -> (delivery: Double, last: Double) {
        let server = ScriptedServer()
        let auctions = server.connector(AuctionsConnector.self, cache: .memory())
        server.set(ListLots.self, to: AnyValue(json: document(10, round: 0)))
        var followers: [LiveResults<ListLots>.Iterator] = []
        for number in 0..<feeds {
            var follower = auctions.listLots(category: .value("\(number)")).live().makeAsyncIterator()
            while let state = try await follower.next(), !state.isConfirmed {}
            followers.append(follower)
        }
        guard server.connections == 1 else {
            throw BenchmarkFailure("\(server.connections) sockets instead of one")
        }
        var samples = Samples()
        let cpu = Clock.processSeconds
        for round in 1...rounds {
            let result = AnyValue(json: document(10, round: round))
            let start = Clock.now
            server.set(ListLots.self, to: result)
            for index in followers.indices {
                while let state = try await followers[index].next() {
                    if state.data?.lots.first?.highestBid == round * 1_000 { break }
                }
            }
            samples.add(Clock.now - start)
        }
        return ((Clock.processSeconds - cpu) / Double(rounds * feeds), samples.median)
    }
}
