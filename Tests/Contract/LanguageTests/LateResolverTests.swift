import Catalog
import Execution
import JSON
import LiveModel
import Operations
import SchemaModel
import Synchronization
import Testing

extension Language {
    /// A batch of live queries that waits for a custom resolver.
    @Suite struct LateResolvers {
        /// A resolver that times out for some names and answers all others.
        private final class Resolver: ResolverTransport {
            let asked = Mutex(0)
            let isLate: @Sendable (String) -> Bool

            init(isLate: @escaping @Sendable (String) -> Bool) { self.isLate = isLate }

            func call(_ call: RemoteCall) async throws(RequestError) -> [UInt8] {
                asked.withLock { $0 += 1 }
                let variables = (try? JSONParser.parse(call.body))?["variables"]
                let name = variables?["a0"]?.stringValue ?? ""
                if isLate(name) { throw RequestError(.timeout, "late", path: [.key(call.responseKey)]) }
                return Array("\"well, \(name)\"".utf8)
            }
        }

        /// - Returns: what each round of a batch gave, and how often the resolver was asked in all.
        private func run(
            count: Int, rounds: Int = 1, fields: String = "greeting(name: $n)",
            isLate: @escaping @Sendable (String) -> Bool
        ) async throws -> (outcomes: [[QueryExecutor.Outcome]], asked: Int) {
            let catalog = try Catalog.compile(
                Project(
                    serviceID: "test", schemaFiles: [SourceFile(path: "schema.gql", text: LanguageSchema.sdl)],
                    resolvers: [
                        ResolverSource(
                            endpoint: ResolverEndpoint(id: "greetings", uri: "http://localhost:1/g", timeoutMs: 500),
                            files: [SourceFile(path: "g.gql", text: "type Query { greeting(name: String!): String }")])
                    ],
                    connectors: [
                        ConnectorSource(
                            id: "main",
                            files: [
                                SourceFile(
                                    path: "main.gql",
                                    text:
                                        """
                                        query Q($n: String!) @auth(level: PUBLIC) {
                                          \(fields)
                                          users(limit: 1) { id }
                                        }
                                        """
                                )
                            ])
                    ]))
            let operation = try #require(catalog.connectors["main"]?.operations.values.first)
            let resolver = Resolver(isLate: isLate)
            let executor = QueryExecutor(
                pool: try #require(LanguageServer.current).pool, clock: fixedClock, resolvers: resolver)
            let items = (0..<count).map {
                QueryExecutor.Item(variables: ["n": .string("\($0)")], auth: nil, knownDigest: nil)
            }
            var outcomes: [[QueryExecutor.Outcome]] = []
            for _ in 0..<rounds { outcomes.append(await executor.run(operation, items: items)) }
            return (outcomes, resolver.asked.withLock { $0 })
        }

        /// The run ends with one timeout, not with one after the other.
        @Test func resolverCallsAfterATimeoutFailToo() async throws {
            let (outcomes, asked) = try await run(count: 64) { _ in true }
            #expect((1..<64).contains(asked), "\(asked)")
            for outcome in outcomes[0] {
                guard case .failed(let error) = outcome else {
                    Issue.record("\(outcome)")
                    continue
                }
                #expect(error.code == .timeout && error.path == [.key("greeting")])
            }
        }

        @Test func resultsBeforeATimeoutAreKept() async throws {
            let (outcomes, asked) = try await run(count: 64) { $0 == "63" }
            #expect(asked == 64)
            for (number, outcome) in outcomes[0].enumerated() {
                switch outcome {
                case .result(let result) where number < 63:
                    #expect(
                        String(decoding: result.answer.body, as: UTF8.self)
                            == #"{"greeting":"well, \#(number)","users":[{"id":"ann"}]}"#)
                case .failed(let error) where number == 63: #expect(error.code == .timeout)
                default: Issue.record("\(number): \(outcome)")
                }
            }
        }

        @Test func eachFieldGetsItsOwnValue() async throws {
            let fields = #"first: greeting(name: "Ann") second: greeting(name: $n) third: greeting(name: "Cy")"#
            let (outcomes, asked) = try await run(count: 2, fields: fields) { _ in false }
            #expect(asked == 6)
            for (number, outcome) in outcomes[0].enumerated() {
                guard case .result(let result) = outcome else {
                    Issue.record("\(number): \(outcome)")
                    continue
                }
                let values = #""first":"well, Ann","second":"well, \#(number)","third":"well, Cy""#
                #expect(
                    String(decoding: result.answer.body, as: UTF8.self) == "{\(values),\"users\":[{\"id\":\"ann\"}]}")
            }
        }

        /// As many resolvers as are asked at a time are always late; the others still get their turn.
        @Test func thoseBehindTheLateOnesGetTheirTurn() async throws {
            let (outcomes, _) = try await run(count: 64, rounds: 4) { (Int($0) ?? 0) < 16 }
            for number in 16..<64 {
                let isAnswered = outcomes.contains { if case .result = $0[number] { true } else { false } }
                #expect(isAnswered, "\(number)")
            }
        }
    }
}
