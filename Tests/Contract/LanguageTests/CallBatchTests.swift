import Catalog
import Execution
import JSON
import LiveModel
import LocalServers
import Logging
import Postgres
import Testing

extension Language {
    /// Callers' queries that run in one statement because there are many at a time.
    @Suite struct CallBatches {
        private static let divisions = """
            query Q($divisor: Int!) {
              _selectFirst(sql: "SELECT 5040 / $1::int AS quotient, count(*) AS rows FROM novel", params: [$divisor])
            }
            """

        /// A pool that measures statements, as a node's does.
        private static func withPool(_ body: (PostgresPool) async throws -> Void) async throws {
            let url = try #require(LanguageServer.current).server.connectionString
            var configuration = PostgresConfiguration(connectionString: url)
            configuration.moderateReadConnections = 1
            configuration.slowReadConnections = 1
            let pool = PostgresPool(
                configuration: configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            try await pool.start()
            do {
                try await body(pool)
                await pool.stop()
            } catch {
                await pool.stop()
                throw error
            }
        }

        /// The text of the answer, or the error's code.
        private static func text(
            _ executor: QueryExecutor, _ stored: StoredOperation, _ divisor: Int
        ) async throws -> String {
            let variables = try stored.coerced(#"{"divisor": \#(divisor)}"#)
            do throws(RequestError) {
                let result = try await executor.run(stored, variables: variables, auth: nil)
                return String(decoding: result.answer.body, as: UTF8.self)
            } catch {
                return error.code.rawValue
            }
        }

        /// A statement runs with others once it is known to be short.
        private static func measure(_ executor: QueryExecutor, _ stored: StoredOperation) async throws {
            for _ in 1...200 { _ = try await text(executor, stored, 1) }
        }

        @Test("Each caller gets its own answer, and a mistake affects no other")
        func ownAnswers() async throws {
            try await Self.withPool { pool in
                let stored = try LanguageSchema.operation(Self.divisions)
                let executor = QueryExecutor(pool: pool, clock: fixedClock, callsMax: 32)
                try await Self.measure(executor, stored)
                #expect(executor.batchCounts.calls == 0)
                let alone = QueryExecutor(pool: pool, clock: fixedClock)
                var expected: [String] = []
                for divisor in 0..<10 { expected.append(try await Self.text(alone, stored, divisor)) }
                #expect(Set(expected).count == 10 && !expected[0].hasPrefix("{") && expected[1].hasPrefix("{"))
                // Until some have met: how many do is up to the machine.
                for round in 1...50 where executor.batchCounts.calls < 100 {
                    try await withThrowingTaskGroup(of: (divisor: Int, text: String).self) { group in
                        for number in 0..<200 {
                            // Few mistakes, so that most batches have none.
                            let divisor = number == 77 ? 0 : 1 + number % 9
                            group.addTask { (divisor, try await Self.text(executor, stored, divisor)) }
                        }
                        for try await answer in group {
                            #expect(answer.text == expected[answer.divisor], "round \(round), by \(answer.divisor)")
                        }
                    }
                }
                let counts = executor.batchCounts
                #expect(counts.calls >= 100 && counts.batches < counts.calls)
                #expect(alone.batchCounts.calls == 0)
            }
        }

        @Test("A caller that gives up is answered at once, the others get their answers")
        func cancelled() async throws {
            try await Self.withPool { pool in
                let stored = try LanguageSchema.operation(Self.divisions)
                let executor = QueryExecutor(pool: pool, clock: fixedClock, callsMax: 32)
                try await Self.measure(executor, stored)
                let calls = try await pool.withSession { session in
                    try await session.begin()
                    try await session.execute("LOCK TABLE novel IN ACCESS EXCLUSIVE MODE")
                    let calls = (1...40).map { divisor in Task { try await Self.text(executor, stored, divisor) } }
                    let deadline = ContinuousClock.now + .seconds(60)
                    while executor.batchCounts.calls == 0, ContinuousClock.now < deadline { await Task.yield() }
                    #expect(executor.batchCounts.calls > 0)
                    for call in calls.dropFirst(20) { call.cancel() }
                    // The table is still locked.
                    for call in calls.dropFirst(20) { #expect(try await !call.value.hasPrefix("{")) }
                    try await session.rollback()
                    return calls
                }
                for (index, call) in calls.prefix(20).enumerated() {
                    let text = try await call.value
                    #expect(text.contains(#""quotient":\#(5040 / (index + 1)),"#), "\(text)")
                }
            }
        }
    }
}
